import StoreFiles

extension Incidents {
  /// Makes an incident of a store that support has repaired. `fill` writes the repaired files into a private folder and
  /// checks them. The repaired store has the original store's name, and can be restored in the original's place.
  package func takeIn(
    returned original: Incident, texts: IncidentTexts, fill: (_ folder: String) throws -> Void
  ) throws -> Incident {
    let trial = try TrialFolder(in: home, mover)
    defer { try? trial.remove() }
    try fileSystem.makeFolder(trial.kept, 0o700)
    let folder = trial.kept + "/" + QuarantineFolder.storeFolderName
    try fileSystem.makeFolder(folder, 0o700)
    try fill(folder)
    let set = StoreSet(at: folder + "/" + original.storeName)
    let seal = try StoreSeal(sealing: set, isCancelled: isCancelled)
    return try trial.publish(home, set, seal, clock(), mover) {
      Incident(
        Judgement(evidence: original.evidence, verdict: original.verdict), app: original.app,
        storeName: set.storeName, id: $0.id, folder: $0.path, created: $1, kind: .returned,
        texts: texts)
    }
  }
}
