import ModelTools
import ObjectModel

/// The JSON output of `lifeboat model identify`.
struct ModelIdentifyReport: Encodable {
  struct Match: Encodable {
    let name: String
    let path: String
    let sharesIdentifier: Bool

    init(_ candidate: ModelIdentification.Candidate) {
      name = candidate.version.name
      path = candidate.version.path
      sharesIdentifier = candidate.sharesIdentifier
    }
  }

  struct Candidate: Encodable {
    struct Change: Encodable {
      let kind: String
      let entity: String?
      let summary: String
    }

    let name: String
    let path: String
    let agreeing: Int
    let of: Int
    let differing: [String]
    let onlyInStore: [String]
    let onlyInModel: [String]
    let undecided: [String: String]
    /// The differences between this model version and the model that the store carries. Only differences that affect a
    /// version hash are listed, and only for the version that is nearest to the store. Nil when the store carries no
    /// model.
    var changes: [Change]?

    init(_ candidate: ModelIdentification.Candidate, of count: Int) {
      name = candidate.version.name
      path = candidate.version.path
      agreeing = candidate.agreement.agreeing.count
      of = count
      differing = candidate.agreement.differing
      onlyInStore = candidate.agreement.onlyInStore
      onlyInModel = candidate.agreement.onlyInModel
      undecided = candidate.agreement.undecided
    }
  }

  struct Age: Encodable {
    let state: String
    let reason: String?
    let doubt: String?

    init(_ age: ModelIdentification.Age) {
      switch age {
      case .current: (state, reason, doubt) = ("current", nil, nil)
      case .older: (state, reason, doubt) = ("older", nil, nil)
      case .newer(let reason): (state, self.reason, doubt) = ("newer", reason, nil)
      case .unknown(let reason, let doubt):
        (state, self.reason, self.doubt) = ("unknown", reason, doubt)
      }
    }
  }

  static let maximumOthers = 50

  let schema = "lifeboat.modelIdentity"
  let version = 1
  let store: String
  let matches: [Match]
  let possible: [Candidate]
  let nearest: Candidate?
  let others: [Candidate]
  let age: Age
  /// The versions that could not be read. Each of them may be the version that wrote the store.
  let unread: [UnreadVersions.Report]

  init(store: String, found: ModelIdentification, cached: ManagedObjectModel?) {
    self.store = store
    let count = found.record.hashes.count
    matches = found.matches.map(Match.init)
    possible = found.possible.map { Candidate($0, of: count) }
    others = found.others.prefix(Self.maximumOthers).map { Candidate($0, of: count) }
    age = Age(found.age)
    unread = found.unread.map(UnreadVersions.Report.init)
    var nearest = found.nearest.map { Candidate($0, of: count) }
    if let model = found.nearest?.version.model, let cached {
      // Only changes that affect a version hash are listed. Other changes have many causes: in a test host, for
      // example, classes have other names.
      nearest?.changes = ModelDifference(from: model, to: cached, scope: .cached).changes
        .filter(\.affectsVersionHash)
        .map { .init(kind: $0.kind.rawValue, entity: $0.entityName, summary: $0.summary) }
    }
    self.nearest = nearest
  }
}
