import Testing

/// Tests that have a host: one at a time, since a process has but one.
@Suite(.serialized, .timeLimit(.minutes(1))) enum HostSuite {}
