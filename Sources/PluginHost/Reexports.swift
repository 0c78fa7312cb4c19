// The parameters and results of a host's calls: a program that embeds it needs no other import. Their own modules stay small and
// unrelated; what is public in them is meant for embedders.
@_exported public import AssetModel
@_exported public import HostProtocol
@_exported public import Sandbox
