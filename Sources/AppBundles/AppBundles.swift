/// An app as a folder: `Name.app` with its `Info.plist`, executable and extension.
public enum AppBundles {}
