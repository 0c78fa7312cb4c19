internal import Downloads

/// What stops downloads until the user does something: the same for all that it stops, however the free space changes.
enum FetchStop: Hashable {
  case disk(SpaceShortage)
  case volume(Int32, mount: String)
  case journal(String)

  /// nil: it ends by itself.
  init?(_ explanation: Explanation) {
    switch explanation.cause {
    case .disk(var shortage):
      (shortage.free, shortage.reserved) = (0, 0)
      self = .disk(shortage)
    case .volume(let code, let mount): self = .volume(code, mount: mount)
    case .journal(let what, isOfVolume: true, _): self = .journal(what)
    default: return nil
    }
  }
}
