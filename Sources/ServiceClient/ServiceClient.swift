/// A connection to the service.
public enum ServiceClient {}
