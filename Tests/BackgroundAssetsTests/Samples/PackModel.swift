import BackgroundAssets

/// A view model as Apple's sample code has it, without an import of Observation.
@Observable final class PackModel {
  var progress = 0.0
}
