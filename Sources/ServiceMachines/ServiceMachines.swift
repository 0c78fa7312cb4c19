/// What the service decides.
public enum ServiceMachines {}
