import StoreFiles
import Fixtures
import Foundation
import ObjectModel
import Testing

@testable import StoreRecovery

/// `man/incident.schema.json` against records that real quarantines wrote.
@Suite struct IncidentSchemaTests {
  private static let schemaURL = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../man/incident.schema.json").standardizedFileURL

  // MARK: A real validator

  @Test func validatorAgrees() throws {
    guard let python = Self.python() else {
      print("skipped: IncidentSchemaTests.validatorAgrees, as python3 has no jsonschema here")
      return
    }
    var records = try Self.records().map(\.json)
    records.append(Data(Self.firstRecord.utf8))
    let folder = try TemporaryFolder()
    let files = records.enumerated().map { index, _ in
      folder.url.appendingPathComponent("\(index).json")
    }
    for (file, json) in zip(files, records) { try json.write(to: file) }
    let result = try run(
      python,
      ["-c", Self.script, Self.schemaURL.path, Rounds.areLong ? "1" : "5"] + files.map(\.path),
      timeout: 300)
    let problems = String(decoding: result.stdout, as: UTF8.self)
    #expect(problems == "")
    let notes = String(decoding: result.stderr, as: UTF8.self)
    #expect(result.status == 0, "\(notes)")
    let mutants = notes.split(separator: " ").first.flatMap { Int($0) } ?? 0
    #expect(mutants > 500, "wrong records that were refused")
  }

  /// Validates each record; then refuses it without each required field, with each value of another type and
  /// with each unknown enum value, and takes it with a field added to each object. Outside the long rounds it changes
  /// each fifth record, the one with every field among them.
  private static let script = """
    import copy, json, sys
    from jsonschema import Draft202012Validator
    schema = json.load(open(sys.argv[1]))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    counts = [0]

    def resolve(node):
        while "$ref" in node:
            node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
        return node

    def refused(document, what):
        counts[0] += 1
        if validator.is_valid(document):
            print("accepted although", what)

    def walk(root, path, node, value):
        node = resolve(node)
        where = "/".join(map(str, path)) or "the record"
        def changed(new):
            document = copy.deepcopy(root)
            if not path: return new
            inner = document
            for key in path[:-1]: inner = inner[key]
            inner[path[-1]] = new
            return document
        for other in [None, True, 1.5, 17, "wrong type", ["wrong type"], {"wrong": "type"}]:
            kind = node.get("type")
            same = {"object": dict, "array": list, "string": str, "boolean": bool}.get(kind)
            if same and isinstance(other, same): continue
            if kind == "integer" and type(other) is int: continue
            if kind is None and other == node.get("const"): continue
            refused(changed(other), f"{where} is {other!r}")
        if "enum" in node or "const" in node: refused(changed("unheardOf"), f"{where} is unknown")
        if "minimum" in node: refused(changed(node["minimum"] - 1), f"{where} is too small")
        if "maximum" in node: refused(changed(node["maximum"] + 1), f"{where} is too large")
        if "pattern" in node: refused(changed("/ %"), f"{where} breaks its pattern")
        if isinstance(value, dict):
            for key in node.get("required", []):
                refused(changed({k: v for k, v in value.items() if k != key}), f"{where} has no {key}")
            if "properties" in node:
                counts[0] += 1
                if not validator.is_valid(changed({**value, "ofALaterVersion": 1})):
                    print("refused although only a field was added to", where)
            for key, inner in value.items():
                described = node.get("properties", {}).get(key) or node.get("additionalProperties")
                if described is None: print(f"{where}: {key} is not described in the schema")
                else: walk(root, path + [key], described, inner)
        if isinstance(value, list):
            for index, inner in enumerate(value[:2]): walk(root, path + [index], node["items"], inner)

    step, names = int(sys.argv[2]), sys.argv[3:]
    for number, name in enumerate(names):
        document = json.load(open(name))
        for error in validator.iter_errors(document):
            print(f"{name}: {error.json_path}: {error.message[:300]}")
        # The last but one has every field.
        if (len(names) - 2 - number) % step == 0: walk(document, [], schema, document)
    print(counts[0], "mutants", file=sys.stderr)
    """

  private static func python() -> String? {
    [findTool("python3"), "/usr/bin/python3"].compactMap(\.self).first { path in
      FileManager.default.isExecutableFile(atPath: path)
        && (try? run(path, ["-c", "from jsonschema import Draft202012Validator"]).status) == 0
    }
  }

  // MARK: Every field is described

  /// Walks the values with their schema. A field that a change adds to a record fails here by its name until
  /// `man/incident.schema.json` describes it.
  @Test func everyPropertyIsDescribed() throws {
    let schema = try Schema(contentsOf: Self.schemaURL)
    let full = try #require(try Self.records().last?.incident)
    var problems: [String] = []
    schema.compare(full, schema.root, "Incident", &problems)
    for problem in Set(problems).sorted() { Issue.record("\(problem)") }
  }

  /// `lostFrames` counts pages, whatever its name says.
  @Test func lostFramesAreDescribedAsPages() throws {
    let schema = try Schema(contentsOf: Self.schemaURL)
    let definitions = try #require(schema.root["$defs"] as? [String: Any])
    let wal = try #require(definitions["wal"] as? [String: Any])
    let properties = try #require(wal["properties"] as? [String: Any])
    let lost = try #require(properties["lostFrames"] as? [String: Any])
    #expect((lost["description"] as? String)?.contains("number of pages") == true)
  }

  /// A record of the first release is read for ever, so every field that was added since is optional.
  @Test func firstRecordIsStillRead() throws {
    let bench = try Workbench()
    let id = Workbench.stamp
    try FileManager.default.createDirectory(
      atPath: bench.incompatible + "/" + id, withIntermediateDirectories: true)
    try bench.write(Self.firstRecord, to: "Incompatible/\(id)/incident.json")
    let entry = try Incidents(in: URL(fileURLWithPath: bench.folder)).show(id)
    #expect(entry.problem == nil)
    #expect(entry.incident?.notice.language == nil)
    do {
      let decoder = JSONDecoder()
      decoder.dateDecodingStrategy = .iso8601
      _ = try decoder.decode(Incident.self, from: Data(Self.firstRecord.utf8))
    } catch DecodingError.keyNotFound(let key, let context) {
      let path = context.codingPath.map(\.stringValue) + [key.stringValue]
      Issue.record(
        "\(path.joined(separator: ".")) is missing in records of the first release: make it optional"
      )
    }
  }

  /// What the first release wrote, with nothing that is optional.
  private static let firstRecord = """
    {"app": {"name": "Done", "version": "2.1"}, "created": "2026-11-20T21:53:07Z",
     "evidence": {"expectsModel": false, "folderExists": true, "host": {}, "members": [
       {"kind": "file", "name": "Done.sqlite", "role": "main", "sizeBytes": 12}]},
     "folder": "/Stores/Incompatible/2026-11-20-21-53-07Z", "id": "2026-11-20-21-53-07Z",
     "kind": "setAside", "notice": {"title": "a", "whatHappened": "b", "whatToDo": "c",
     "whatWasKept": "d"}, "schema": "lifeboat.incident", "storeName": "Done.sqlite",
     "toolVersion": "0.1.0", "verdict": {"action": "quarantine", "finding": "corrupt",
     "reason": "r", "rule": "sqlite.11"}, "version": 1}
    """

  // MARK: Records

  private struct Record {
    let incident: Incident
    let json: Data
  }

  /// One record of each finding, one of a store that was replaced, and last one with every field.
  private static func records() throws -> [Record] {
    var records: [Record] = []
    for finding in Verdict.Finding.allCases {
      let bench = try Workbench()
      try bench.makeStore()
      let recovery = bench.recovery(structure: Workbench.mismatching)
      let evidence = try recovery.examine(
        expecting: finding == .incompatible ? Workbench.model : nil)
      let verdict = Verdict(
        finding: finding, action: .quarantine, reason: "r", rule: .named("test.rule"))
      _ = try recovery.setAside(Judgement(evidence: evidence, verdict: verdict))
      records.append(try record(in: bench))
    }
    records.append(try opened())
    records.append(try copied())
    records.append(try replaced())
    records.append(try full())
    return records
  }

  private static func record(in bench: Workbench, _ id: String = Workbench.stamp) throws -> Record {
    let incidents = Incidents(in: URL(fileURLWithPath: bench.folder))
    let name = "Incompatible/\(id)/incident.json"
    return Record(
      incident: try #require(try incidents.show(id).incident), json: try #require(bench.bytes(name))
    )
  }

  /// By a failed open.
  private static func opened() throws -> Record {
    let bench = try Workbench()
    try bench.write(String(repeating: "this is no database. ", count: 300), to: "Done.sqlite")
    let opened = try bench.recovery().openSynchronously { try Database.open($0) }
    opened.handle.close()
    return try record(in: bench)
  }

  /// By an open during which SQLite drops the log.
  private static func copied() throws -> Record {
    let bench = try Workbench()
    try bench.makeStore()
    var log = try #require(bench.bytes("Done.sqlite-wal"))
    log[0] ^= 0xff
    try log.write(to: URL(fileURLWithPath: bench.store + "-wal"))
    let opened = try bench.recovery().openSynchronously { try Database.open($0) }
    opened.handle.close()
    let incident = try #require(opened.incident)
    #expect(incident.kind == .copied)
    return try record(in: bench, incident.id)
  }

  private static func replaced() throws -> Record {
    let bench = try Workbench()
    try bench.makeStore()
    let recovery = bench.recovery(structure: Workbench.mismatching)
    let judgement = recovery.judge(try recovery.examine(expecting: Workbench.model))
    _ = try recovery.recover(judgement) { try Database.open($0).close() }
    let restored = try Incidents(in: bench.folder, fileSystem: .real, clock: { Workbench.now })
      .restore(Workbench.stamp)
    return try record(in: bench, try #require(restored.replaced?.id))
  }

  /// Every optional field has a value, so that what is in it is walked too.
  private static func full() throws -> Record {
    let bench = try Workbench()
    try bench.makeStore()
    let recovery = Recovery(
      URL(fileURLWithPath: bench.store), app: .init(name: "Done", version: "2.1", build: "7"),
      structure: { path, evidence in
        FileStructure.read(path, &evidence)
        Workbench.mismatching(path, &evidence)
        evidence.frameworkVersion = 1344
        evidence.hashesVersion = 3
      }, clock: { Workbench.now })
    var evidence = try recovery.examine(expecting: Workbench.model)
    evidence.wal?.lostFrames = 3
    evidence.structure = .init(findings: ["page.kind"], findingCount: 1, isUnopenable: false)
    evidence.writtenBy = "Model 1"
    evidence.isNewerThanApp = false
    evidence.sharesEntities = true
    let loss = SilentLoss(kind: .cutShort, witness: .index, frames: 2, keptPages: 1)
    evidence.wal?.loss = loss
    evidence.wal?.doubt = loss
    evidence.wal?.witnesses = [.log, .record]
    evidence.journal = .init(isHot: false)
    evidence.lockHolder = 17
    evidence.repetition = .init(fingerprint: "f")
    evidence.repetition?.incidents = [Workbench.stamp]
    evidence.repetition?.isAllowed = true
    evidence.trial = .init()
    evidence.trial?.makesFreshStore = true
    evidence.trial?.freshCode = 28
    evidence.trial?.copy = .failed
    evidence.host = HostState(
      isExtension: false, isInBackground: false, isProtectedDataAvailable: true, ownsStore: true)
    evidence.failure = .init(
      chain: [.init(domain: "NSCocoaErrorDomain", code: 134_100)], sqliteCode: 11,
      cocoaCode: 134_100, posixCode: 5, blamesSchema: true, meaning: .otherVersion)
    let verdict = Verdict(
      finding: .incompatible, action: .quarantine, reason: "r", rule: .cocoa(134_100))
    _ = try recovery.setAside(Judgement(evidence: evidence, verdict: verdict))
    return try record(in: bench)
  }
}

/// A JSON schema, as far as this one goes.
private struct Schema {
  typealias Node = [String: Any]
  let root: Node

  /// What no record ever holds, although its type has it.
  private static let neverRecorded: Set = ["Incident.evidence.wal.unrecorded"]

  init(contentsOf url: URL) throws {
    root = try #require(
      try JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [String: Any])
  }

  private func resolve(_ node: Node) -> Node {
    guard let name = (node["$ref"] as? String)?.split(separator: "/").last,
      let definitions = root["$defs"] as? Node, let target = definitions[String(name)] as? Node
    else { return node }
    return target
  }

  /// Notes what `value` has and its schema does not describe, or describes otherwise.
  func compare(_ value: Any, _ unresolved: Node, _ path: String, _ problems: inout [String]) {
    let node = resolve(unresolved)
    func has(_ type: String) {
      guard node["type"] as? String != type, node["const"] == nil else { return }
      problems.append("\(path) is of the type \(type), and man/incident.schema.json says otherwise")
    }
    let mirror = Mirror(reflecting: value)
    if value is Date || value is VersionHash || value is Verdict.Rule { return has("string") }
    switch mirror.displayStyle {
    case .enum:
      has("string")
      let cases = (type(of: value) as? any CaseIterable.Type).map { Self.cases($0) }
      if cases == nil || cases != node["enum"] as? [String] {
        problems.append(
          "\(path) is one of \(cases ?? ["(make the enum CaseIterable)"]), and man/incident.schema.json says otherwise"
        )
      }
    case nil: has(value is Bool ? "boolean" : value is any BinaryInteger ? "integer" : "string")
    case .struct: compareFields(mirror, node, path, &problems)
    case .collection:
      guard let items = node["items"] as? Node else {
        problems.append("\(path) is an array, and man/incident.schema.json says nothing of items")
        return
      }
      for child in mirror.children { compare(child.value, items, path + "[]", &problems) }
    case .dictionary:
      if node["additionalProperties"] as? Node == nil {
        problems.append("\(path) is a map, and man/incident.schema.json does not say of what")
      }
    default: break
    }
  }

  private static func cases<Value: CaseIterable>(_ type: Value.Type) -> [String] {
    type.allCases.compactMap { ($0 as? any RawRepresentable)?.rawValue as? String }
  }

  private func compareFields(
    _ mirror: Mirror, _ node: Node, _ path: String, _ problems: inout [String]
  ) {
    let properties = node["properties"] as? Node ?? [:]
    let required = node["required"] as? [String] ?? []
    for child in mirror.children {
      guard let label = child.label else { continue }
      let name = "\(path).\(label)"
      if Self.neverRecorded.contains(name) { continue }
      guard let described = properties[label] as? Node, described["description"] is String else {
        problems.append("\(name) is not described in man/incident.schema.json: add it there")
        continue
      }
      let optional = child.value as? any AnyOptional
      if required.contains(label) == (optional != nil) {
        problems.append(
          optional == nil
            ? "\(name) is always there, and man/incident.schema.json does not require it"
            : "\(name) may be nil, and man/incident.schema.json requires it")
      }
      if let optional, optional.inner == nil {
        guard optional.isComposite else { continue }
        problems.append(
          "\(name) is nil in `full()` of IncidentSchemaTests: give it a value there, so that its parts are compared"
        )
      } else {
        compare(optional?.inner ?? child.value, described, name, &problems)
      }
    }
    let labels = Set(mirror.children.compactMap(\.label))
    for name in properties.keys.sorted() where !labels.contains(name) {
      problems.append("man/incident.schema.json describes \(path).\(name), which is not there")
    }
  }
}

private protocol AnyOptional {
  var inner: Any? { get }
  /// Whether a value would have parts of its own.
  var isComposite: Bool { get }
}

extension Optional: AnyOptional {
  fileprivate var inner: Any? { map { $0 as Any } }
  fileprivate var isComposite: Bool {
    !(Wrapped.self is any LosslessStringConvertible.Type
      || Wrapped.self is any RawRepresentable.Type || Wrapped.self is VersionHash.Type
      || Wrapped.self is Date.Type || Wrapped.self is [String].Type)
  }
}
