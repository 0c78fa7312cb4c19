/// What a runner says by its exit status where it can't say anything else.
package enum RunnerExit {
  /// Its channel to the host is gone (EX_PROTOCOL of sysexits(3)): the host has ended, or what is loaded has closed it.
  package static let channelLost: Int32 = 76
}
