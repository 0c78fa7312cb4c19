import CExtension

/// `UserDefaults` of this process, which is killed at the end of a wake, so that without this they wouldn't be written.
enum Preferences {
  /// Writes every domain with unsaved values, whichever application it is asked for. Where none was used there is nothing
  /// to look through: it creates none itself.
  static func save() { _ = CFPreferencesAppSynchronize(kCFPreferencesCurrentApplication) }
}
