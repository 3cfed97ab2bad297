import SafeFiles
import StoreFiles
import Fixtures
import Foundation
import ModelTools
import ObjectModel
import Testing

@testable import StoreRecovery

@Suite struct ExpectedModelTests {
  private func evidence(
    _ recorded: [String: VersionHash], framework: Int64? = 1344, rules: Int64? = 3
  ) -> StoreEvidence {
    var evidence = StoreEvidence(mainKind: .file, mainSizeBytes: 4096)
    evidence.recordedHashes = recorded
    evidence.frameworkVersion = framework
    evidence.hashesVersion = rules
    return evidence
  }

  private func compared(_ model: any ModelExpectation, _ start: StoreEvidence) -> StoreEvidence {
    var evidence = start
    model.expectedModel.compare(&evidence)
    return evidence
  }

  @Test func plainHashes() {
    let model = ExpectedModel(name: "2", hashes: hashes(["A": 1, "B": 2, "C": 3]))
    let result = compared(model, evidence(hashes(["A": 1, "B": 9, "D": 4])))
    #expect(result.comparison?.agreeing == ["A"])
    #expect(result.comparison?.differing == ["B"])
    #expect(result.comparison?.onlyInStore == ["D"])
    #expect(result.comparison?.onlyInModel == ["C"])
    #expect(result.expectedVersion == "2")
    #expect(compared(model, evidence([:])).comparison == nil)
    #expect(compared(model, evidence(hashes(["A": 9]), rules: 4)).comparison == nil)
    // Before version 3 of the rules only the names count.
    let old = compared(model, evidence(hashes(["A": 7, "B": 8, "C": 9]), rules: 2))
    #expect(old.comparison?.isEqual == true)
    let fewer = compared(model, evidence(hashes(["A": 7, "B": 8]), rules: 2))
    #expect(fewer.comparison?.onlyInModel == ["C"])
  }

  /// An entity with a name outside ASCII: nothing confirms how its hash is computed.
  @Test func unknownHashesAreNoMismatch() throws {
    let model = ManagedObjectModel(entities: [Entity(name: "Äpfel"), Entity(name: "Task")])
    let computed = model.versionHashes()
    let task = try #require(computed.hashes["Task"])
    let apples = try #require(computed.unconfirmed["Äpfel"])
    let other = hashes(["x": 0xaa])["x"]
    let same = compared(model, evidence(["Task": task, "Äpfel": apples]))
    #expect(same.comparison?.agreeing == ["Task", "Äpfel"])
    #expect(same.undecided == [])
    let unsure = compared(model, evidence(["Task": task, "Äpfel": try #require(other)]))
    #expect(unsure.comparison?.isEqual == true)
    #expect(unsure.undecided == ["Äpfel"])
    #expect(compared(model, evidence(["Task": task])).comparison?.onlyInModel == ["Äpfel"])

    // Core Data can compare what we cannot: its word counts, and only its.
    func judged(_ start: StoreEvidence, _ code: Int) -> Action {
      var evidence = start
      evidence.openErrno = 0
      evidence.structure = .init(findings: [], findingCount: 0, isUnopenable: false)
      evidence.failure = .init(cocoaCode: code)
      return classify(evidence).action
    }
    #expect(judged(unsure, 134100) == .quarantine)
    #expect(judged(unsure, 256) == .refuse)
    #expect(judged(same, 134100) == .refuse)
  }

  /// Systems from iOS 13 to 16 recorded hashes for derived attributes that changed each time.
  @Test(
    arguments: [(976, false), (977, true), (1251, true), (1252, false), (nil, true)]
      as [(Int64?, Bool)])
  func derivedAttributes(framework: Int64?, isForgiven: Bool) {
    let form = ExpectedModel.Form(hashes: hashes(["A": 1, "B": 2]), derived: ["B"])
    let model = ExpectedModel(name: nil, forms: [form], versions: [], entityNames: nil)
    let result = compared(model, evidence(hashes(["A": 1, "B": 9]), framework: framework))
    #expect(result.comparison?.isEqual == isForgiven)
    let both = compared(model, evidence(hashes(["A": 8, "B": 9]), framework: framework))
    #expect(both.comparison?.differing == ["A", "B"])
    let gone = compared(model, evidence(hashes(["B": 9]), framework: framework))
    #expect(gone.comparison?.isEqual == false)
  }

  @Test func tombstones() throws {
    let entity = Entity(
      name: "Task", attributes: [Attribute(name: "title", type: .string)],
      userInfo: [ManagedObjectModel.tombstoneKey: "title"])
    let model = ManagedObjectModel(entities: [entity])
    for honours in [true, false] {
      let recorded = model.versionHashes(honouringTombstones: honours).hashes
      #expect(compared(model, evidence(recorded)).comparison?.isEqual == true)
    }
    #expect(compared(model, evidence(hashes(["Task": 1]))).comparison?.differing == ["Task"])
  }

  // MARK: Another app's store

  @Test func sharedEntities() {
    let model = ExpectedModel(name: "2", hashes: hashes(["A": 1, "B": 2]), earlierNames: ["Old"])
    #expect(compared(model, evidence(hashes(["A": 9, "X": 1]))).sharesEntities == true)
    #expect(compared(model, evidence(hashes(["Old": 9]))).sharesEntities == true)
    #expect(compared(model, evidence(hashes(["X": 1, "a": 1]))).sharesEntities == false)
    // Names are names whatever the rules of hashes.
    for rules in [1, 2, 4] as [Int64] {
      #expect(compared(model, evidence(hashes(["X": 1]), rules: rules)).sharesEntities == false)
    }
    #expect(compared(model, evidence([:])).sharesEntities == nil)
  }

  /// A model in which all was renamed still knows the store by renaming identifiers, or by an earlier version.
  @Test func renamedEntities() throws {
    let renamed = ManagedObjectModel(entities: [
      Entity(name: "Job", renamingIdentifier: "Task"), Entity(name: "Label"),
    ])
    #expect(compared(renamed, evidence(hashes(["Task": 1]))).sharesEntities == true)
    #expect(compared(renamed, evidence(hashes(["Other": 1]))).sharesEntities == false)

    let folder = try TemporaryFolder()
    func write(_ name: String, _ entity: String) throws {
      let version = folder.url.appendingPathComponent("M.xcdatamodeld/\(name).xcdatamodel")
      try FileManager.default.createDirectory(at: version, withIntermediateDirectories: true)
      try Data(entity.utf8).write(to: version.appendingPathComponent("contents"))
    }
    try write("M", "<model><entity name=\"Task\"/></model>")
    try write("M 2", "<model><entity name=\"Job\"/></model>")
    let path = folder.url.appendingPathComponent("M.xcdatamodeld").path
    func expected() throws -> ExpectedModel {
      try #require(ExpectedModel(ModelCollection(searching: path), versionName: "M 2"))
    }
    #expect(compared(try expected(), evidence(hashes(["Task": 9]))).sharesEntities == true)
    #expect(compared(try expected(), evidence(hashes(["Other": 9]))).sharesEntities == false)
    // A version that cannot be read may be the one that wrote the store.
    try write("M 3", "this is no model")
    #expect(compared(try expected(), evidence(hashes(["Other": 9]))).sharesEntities == nil)
  }

  @Test func writers() {
    func form(_ byte: UInt8) -> [ExpectedModel.Form] { [.init(hashes: hashes(["A": byte]))] }
    let model = ExpectedModel(
      name: "M 3", forms: form(3),
      versions: [
        .init(name: "M", forms: form(1)), .init(name: "M 2", forms: form(1)),
        .init(name: "M 3", forms: form(3)),
      ], entityNames: nil)
    #expect(compared(model, evidence(hashes(["A": 1]))).writtenBy == "M or M 2")
    #expect(compared(model, evidence(hashes(["A": 3]))).writtenBy == "M 3")
    #expect(compared(model, evidence(hashes(["A": 4]))).writtenBy == nil)
    #expect(compared(model, evidence(hashes(["A": 1]))).isNewerThanApp == nil)
  }
}
