import SafeFiles
import StoreFiles
import Foundation
import ObjectModel
import Testing

@testable import StoreRecovery

/// What the adaptors for Apple's frameworks rest on, without the frameworks.
@Suite struct AppleStoresTests {
  @Test func coveredStores() {
    let file = URL(fileURLWithPath: "/stores/Done.sqlite")
    #expect(Recovery.covers(isSQLite: true, url: file, isReadOnly: false))
    #expect(!Recovery.covers(isSQLite: true, url: file, isReadOnly: true))
    #expect(!Recovery.covers(isSQLite: false, url: file, isReadOnly: false))
    #expect(!Recovery.covers(isSQLite: true, url: nil, isReadOnly: false))
    for path in ["/dev/null", "/dev/null/Done"] {
      let url = URL(fileURLWithPath: path)
      #expect(!Recovery.covers(isSQLite: true, url: url, isReadOnly: false))
    }
    let web = URL(string: "https://example.org/Done.sqlite")
    #expect(!Recovery.covers(isSQLite: true, url: web, isReadOnly: false))
  }

  @Test func hashesOfCoreData() throws {
    let bytes = [UInt8](0..<32)
    let model = try #require(ExpectedModel(name: "2", hashData: ["Task": Data(bytes)]))
    let hash = try #require(VersionHash(bytes: bytes))
    #expect(model == ExpectedModel(name: "2", hashes: ["Task": hash]))
    // A slice of data does not begin at 0.
    let slice = Data([9] + bytes).dropFirst()
    #expect(ExpectedModel(name: "2", hashData: ["Task": slice]) == model)
    for count in [0, 31, 33] {
      let odd = ["Task": Data(bytes), "Tag": Data(count: count)]
      #expect(ExpectedModel(name: nil, hashData: odd) == nil)
    }
    #expect(ExpectedModel.name(ofIdentifiers: Set<AnyHashable>([""])) == nil)
    #expect(ExpectedModel.name(ofIdentifiers: Set<AnyHashable>(["b", 7, "a"])) == "a, b")
  }

  @Test func whatTheProcessKnows() {
    let app = URL(fileURLWithPath: "/Done.app")
    let widget = URL(fileURLWithPath: "/Done.app/PlugIns/Widget.appex")
    #expect(HostState.ofThisProcess(bundle: app).isExtension == false)
    #expect(HostState.ofThisProcess(bundle: widget).isExtension == true)
    var policy = Policy()
    #expect(policy.adaptedToProcess(.ofThisProcess(bundle: app)).mode == .act)
    #expect(policy.adaptedToProcess(.ofThisProcess(bundle: widget)).mode == .extension)
    policy.mode = .reportOnly
    #expect(policy.adaptedToProcess(.ofThisProcess(bundle: widget)).mode == .reportOnly)
  }

  @Test(
    arguments: [
      (EPERM, FileProtectionType.complete, false), (EACCES, .completeUnlessOpen, false),
      (EPERM, .completeUntilFirstUserAuthentication, false), (0, .complete, true),
      (0, .completeUntilFirstUserAuthentication, nil), (EPERM, FileProtectionType.none, nil),
      (EPERM, nil, nil),
      (ENOENT, .complete, nil), (nil, .complete, nil),
    ] as [(Int32?, FileProtectionType?, Bool?)])
  func locked(openErrno: Int32?, protection: FileProtectionType?, isAvailable: Bool?) {
    let state = HostState().completed(openErrno: openErrno, protection: protection)
    #expect(state == HostState(isProtectedDataAvailable: isAvailable))
    for told in [true, false] {
      let state = HostState(isProtectedDataAvailable: told)
        .completed(openErrno: openErrno, protection: protection)
      #expect(state.isProtectedDataAvailable == told)
    }
  }

  /// The size of the store is asked for when the open has failed: a launch lists no folder for it.
  @Test func muteErrors() {
    var policy = Policy()
    policy.setsAsideOnMismatchAlone = false
    policy.minimumFreeBytes = 1000
    let mute = policy.forErrorsWithoutCause()
    #expect(mute.setsAsideOnMismatchAlone)
    #expect(mute.neededFreeBytes([8192, 50, -7]) == 1000 + 8192 + 50)
    #expect(mute.neededFreeBytes([.max, 1]) == .max)
    #expect(mute.neededFreeBytes([]) == 1000)
    #expect(policy.neededFreeBytes([8192]) == 1000)

    var evidence = StoreEvidence(mainKind: .file, mainSizeBytes: 8192)
    evidence.openErrno = 0
    evidence.looksEncrypted = false
    evidence.header = .init(isMagicRight: true, pageSize: 4096)
    evidence.failure = .init(sqliteCode: 11)
    evidence.structure = .init(findings: ["page.kind"], findingCount: 1, isUnopenable: false)
    evidence.members = [
      .init(role: .main, name: "Done.sqlite", kind: .file, sizeBytes: 8192),
      .init(role: .support, name: ".Done_SUPPORT/x", kind: .file, sizeBytes: 50),
    ]
    evidence.freeBytes = 1000 + 8192 + 49
    #expect(classify(evidence, policy: policy).action == .quarantine)
    #expect(classify(evidence, policy: mute).rule == .holdNoSpace)
    evidence.freeBytes = 1000 + 8192 + 50
    #expect(classify(evidence, policy: mute).action == .quarantine)
  }

  // MARK: Answers

  @Test func answersFromManyThreads() async {
    for count in [0, 1, 2, 100] {
      let calls = Counter()
      let failures = await withCheckedContinuation { continuation in
        let answers = StoreAnswers(count: count) {
          calls.next()
          continuation.resume(returning: $0)
        }
        DispatchQueue.concurrentPerform(iterations: count) { index in
          answers.take(path: "/\(index)", error: index % 2 == 0 ? HostError() : nil)
        }
        // One too many is passed over.
        answers.take(path: "/more", error: HostError())
      }
      #expect(failures.count == (count + 1) / 2)
      #expect(calls.count == 1)
    }
    let answers = StoreAnswers(count: 2)
    answers.take(path: nil, error: nil)
    #expect(answers.complete == nil)
    answers.take(path: nil, error: nil)
    #expect(answers.complete?.isEmpty == true)
  }

  @Test func failuresOfMembersAndOthers() throws {
    let mine = HostError()
    let counter = Counter()
    let loaded = try SeveralStores.Loaded(
      "container", failures: [.init(path: "/b", error: mine)], paths: ["/a", "/b"]
    ) { _ in counter.next() }
    #expect(loaded.failures.keys.sorted() == [1])
    #expect(counter.count == 0)
    for path in [nil, "/c"] {
      let error = #expect(throws: HostError.self) {
        _ = try SeveralStores.Loaded(
          "container", failures: [.init(path: path, error: mine)], paths: ["/a", "/b"]
        ) { _ in counter.next() }
      }
      #expect(error === mine)
    }
    #expect(counter.count == 2)
  }
}

extension AppleStoresTests {
  /// Errors in the forms in which Core Data, SwiftData and Foundation hand them out.
  @Test(
    arguments: [
      // A number in the user info, as in Core Data's own errors and in those of the domain itself.
      (error("NSCocoaErrorDomain", 256, ["NSSQLiteErrorDomain": NSNumber(value: 264)]), 264),
      (error("NSSQLiteErrorDomain", 11, ["NSSQLiteErrorDomain": NSNumber(value: 11)]), 11),
      (error("NSCocoaErrorDomain", 256, ["NSSQLiteErrorDomain": NSNumber(value: 3850.0)]), 3850),
      // One error below the other.
      (
        error(
          "NSCocoaErrorDomain", 134110,
          [NSUnderlyingErrorKey: error("NSCocoaErrorDomain", 256, ["NSSQLiteErrorDomain": 5])]), 5
      ),
      // Several side by side: one that can never lead to a quarantine decides.
      (
        error(
          "NSCocoaErrorDomain", 1560,
          [
            "NSDetailedErrors": [
              error("NSSQLiteErrorDomain", 11), error("NSSQLiteErrorDomain", 13),
            ] as [NSError]
          ]), 13
      ),
      (
        error(
          "NSCocoaErrorDomain", 134060,
          ["NSMultipleUnderlyingErrorsKey": [error("NSSQLiteErrorDomain", 23)] as NSArray]), 23
      ),
      // Nothing of SQLite's inside.
      (error("NSCocoaErrorDomain", 134100, ["metadata": ["NSStoreType": "SQLite"]]), nil),
      (error("SwiftData.SwiftDataError", 1), nil),
      (error("NSCocoaErrorDomain", 256, ["NSSQLiteErrorDomain": "none"]), nil),
      (error("NSCocoaErrorDomain", 256, ["NSSQLiteErrorDomain": NSNumber(value: 1 << 40)]), nil),
    ] as [(NSError, Int32?)])
  func sqliteCodes(error: NSError, code: Int32?) {
    #expect(OpenFailure.facts(of: error, sqliteCode: nil).sqliteCode == code)
  }
}

private func error(_ domain: String, _ code: Int, _ info: [String: Any] = [:]) -> NSError {
  NSError(domain: domain, code: code, userInfo: info)
}
