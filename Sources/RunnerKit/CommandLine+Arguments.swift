extension CommandLine {
  /// What a plugin sees instead of the runner's own arguments, which are paths of the machine.
  ///
  /// Any other time they may not be set, for the sake of threads that read them; here there is one.
  @_silgen_name("$ss11CommandLineO9argumentsSaySSGvsZ")
  static func setArguments(_ arguments: __owned [String])
}
