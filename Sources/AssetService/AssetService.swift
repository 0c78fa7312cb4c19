/// Brokers between apps, their extensions and the download engine.
public enum AssetServices {}
