import StoreFiles

extension Incidents {
  /// Makes an incident of a store that support has repaired and sent back, unless another call has already made one.
  /// The repaired store has the name of the original store, so that it can be restored in the original's place.
  ///
  /// The lease is not held while the store is unpacked, because unpacking may take long. In this time, another process
  /// may make an incident of the same repaired store. So `begun` is called before and after the unpacking.
  ///
  /// - Parameters:
  ///   - original: The incident for which the store was repaired.
  ///   - texts: The words for the incident's record.
  ///   - begun: Returns the incident that another call has made of the same repaired store; nil when there is no such
  ///     incident. Throws when the repaired store is in use already. This process holds the lease during each call.
  ///   - fill: Writes the repaired files into a private folder and checks them.
  /// - Returns: The new incident, or the one that `begun` returned.
  /// - Throws: What `begun` or `fill` threw; ``StoreRecoveryError`` with the code `store.inUse` when another process
  ///   does not release the lease in time; the errors of making and sealing the files.
  package func takeIn(
    returned original: Incident, texts: IncidentTexts, unlessBegun begun: () throws -> Incident?,
    fill: (_ folder: String) throws -> Void
  ) throws -> Incident {
    if let other = try mover.leased(home, begun) { return other }
    let trial = try TrialFolder(in: home, mover)
    defer { try? trial.remove() }
    try fileSystem.makeFolder(trial.kept, 0o700)
    let folder = Incidents.keptFolder(in: trial.kept)
    try fileSystem.makeFolder(folder, 0o700)
    try fill(folder)
    let set = StoreSet(at: folder + "/" + original.storeName)
    let seal = try StoreSeal(sealing: set, isCancelled: isCancelled)
    // Syncing a large set takes long, so it is done before the lease is taken. `publish` then has little left to sync.
    try mover.sync(set)
    return try mover.leased(home) {
      if let other = try begun() { return other }
      return try trial.publish(home, set, seal, clock(), mover) {
        Incident(
          Judgement(evidence: original.evidence, verdict: original.verdict), app: original.app,
          storeName: set.storeName, id: $0.id, folder: $0.path, created: $1, kind: .returned,
          texts: texts)
      }
    }
  }
}
