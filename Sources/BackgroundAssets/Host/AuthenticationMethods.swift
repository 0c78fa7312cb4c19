// The names are those of Apple's Foundation.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

// Foundation marks both as unavailable on Linux. A module's own names win over those that it passes on, so that sources
// that compare a challenge's method with them compile.

/// A server asks to be trusted. No extension sees it here: the host checks the server's certificate itself.
public let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"

/// A server asks for the client's certificate.
public let NSURLAuthenticationMethodClientCertificate = "NSURLAuthenticationMethodClientCertificate"
