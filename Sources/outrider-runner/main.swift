import RunnerKit

ForkServer.main(CommandLine.arguments)
