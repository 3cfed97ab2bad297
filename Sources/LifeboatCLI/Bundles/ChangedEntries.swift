import SupportBundle

extension DisplayOptions {
  /// Lists on standard error the entries of a bundle that are not the ones that its manifest lists: the first five or,
  /// with `-v`, all. Then names the command that checks the whole bundle. `argument` names the bundle in this command.
  func note(
    changes: [(entry: String?, reason: String)], of path: String, _ argument: String
  ) {
    guard !changes.isEmpty else { return }
    let maxShown = verbose > 0 ? changes.count : 5
    for (entry, reason) in changes.prefix(maxShown) {
      note("finding: \(path): \(entry ?? "the archive") is not as the manifest lists it: \(reason)")
    }
    if changes.count > maxShown {
      note("finding: and \(changes.count - maxShown) more (-v names them)")
    }
    note("to check the whole bundle, run: lifeboat bundle verify \(argument)")
  }

  /// Lists the problems of the bundle at `path` on standard error, and throws the exit code for findings. Does nothing
  /// without problems.
  func tell(
    _ problems: [BundleVerification.Problem], of path: String, _ argument: String
  ) throws {
    guard !problems.isEmpty else { return }
    note(changes: problems.map { ($0.entry, $0.message) }, of: path, argument)
    try exitWithFindings()
  }
}

extension StoreInput {
  /// Lists on standard error the entries of the bundle that were not unpacked, because they differ from the bundle's
  /// manifest. Writes nothing for an input that is not a bundle.
  func tellChanges(_ display: DisplayOptions) {
    display.note(
      changes: leftOut.map { ($0.name, $0.reason) }, of: file?.path ?? given, bundleArgument)
  }
}
