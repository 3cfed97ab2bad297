extension StoreEvidence {
  /// How often this build of the app has set the store aside before, for the same failure and in total.
  package struct Repetition: Sendable, Codable, Equatable {
    /// The string that identifies the failure: the verdict's finding and rule, and the outermost error.
    package var fingerprint: String
    package var isKnown = true
    /// The number of times that this build has set the store aside for the current failure.
    package var same = 0
    /// How often this build has set the store aside for any reason.
    package var all = 0
    /// The ids of the latest incidents that this failure caused, the newest last.
    package var incidents: [String] = []
    /// Whether the host allows setting the store aside a second time; nil when the host was not asked.
    package var isAllowed: Bool?

    /// Returns the string that identifies a failure, made of the verdict and the outermost error.
    package static func fingerprint(_ verdict: Verdict, _ evidence: StoreEvidence) -> String {
      let outermost = evidence.failure?.chain.first.map { " \($0.domain) \($0.code)" } ?? ""
      return "\(verdict.finding.rawValue) \(verdict.rule.rawValue)\(outermost)"
    }
  }
}
