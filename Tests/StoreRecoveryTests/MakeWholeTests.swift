import SafeFiles
import StoreFiles
import Foundation
import Testing

@testable import StoreRecovery

/// A file that gets the store's name only when it is complete.
@Suite struct MakeWholeTests {
  struct Stop: Error {}

  /// Each call of the file system fails in its turn: the name is there with all of the file or not at all, and the
  /// next run makes it and removes what was left.
  @Test func aNameComesWithAllOfTheFile() throws {
    var isComplete = false
    for step in 1...60 where !isComplete {
      let bench = try Workbench()
      let calls = Counter()
      let system = FileSystem.watched { call, path in
        if calls.next("\(call) \(path)") >= step { throw Stop() }
      }
      let made = Result {
        try bench.recovery(fileSystem: system).makeWhole { try Data("whole".utf8).write(to: $0) }
      }
      let bytes = bench.bytes("Done.sqlite")
      #expect(bytes == nil || bytes == Data("whole".utf8), "step \(step)")
      if bytes == nil {
        #expect(throws: (any Error).self) { try made.get() }
        try bench.recovery().makeWhole { try Data("whole".utf8).write(to: $0) }
        #expect(bench.bytes("Done.sqlite") == Data("whole".utf8), "step \(step)")
        #expect(bench.names(bench.incompatible) == [".lease"], "step \(step)")
      }
      if case .success = made { isComplete = true }
    }
    #expect(isComplete, "no run came to its end")
  }

  /// The folder of the incidents is on another volume, and a kill leaves half of a copy: the name is there with all of
  /// the file or not at all, and the next run leaves nothing beside it.
  @Test func aCopyFromAnotherVolumeGetsTheNameAtItsEnd() throws {
    var isComplete = false
    for step in 1...60 where !isComplete {
      let bench = try Workbench()
      let made = Result {
        try bench.recovery(fileSystem: otherVolume(endsAt: step)).makeWhole {
          try Data("whole".utf8).write(to: $0)
        }
      }
      let bytes = bench.bytes("Done.sqlite")
      #expect(bytes == nil || bytes == Data("whole".utf8), "step \(step)")
      if bytes == nil {
        #expect(throws: (any Error).self) { try made.get() }
        try bench.recovery(fileSystem: otherVolume(endsAt: .max)).makeWhole {
          try Data("whole".utf8).write(to: $0)
        }
        #expect(bench.bytes("Done.sqlite") == Data("whole".utf8), "step \(step)")
        #expect(bench.names() == ["Done.sqlite", "Incompatible"], "step \(step)")
        #expect(bench.names(bench.incompatible) == [".lease"], "step \(step)")
      }
      if case .success = made { isComplete = true }
    }
    #expect(isComplete, "no run came to its end")
  }

  /// A file system with `Incompatible` on a volume of its own. From the call number `step` on, no call does anything;
  /// a copy that is this call is half done.
  private func otherVolume(endsAt step: Int) -> FileSystem {
    let calls = Counter()
    var system = FileSystem.watched { call, path in
      if calls.next("\(call) \(path)") >= step { throw Stop() }
    }
    let link = system.link
    let rename = system.rename
    let refuse: @Sendable (String, String) throws -> Void = { from, to in
      guard from.contains("/Incompatible/") == to.contains("/Incompatible/") else {
        throw SystemCallError(call: "link", path: to, errno: EXDEV)
      }
    }
    system.link = {
      try refuse($0, $1)
      try link($0, $1)
    }
    system.rename = {
      try refuse($0, $1)
      try rename($0, $1)
    }
    system.copy = { from, to in
      if calls.next("copy \(to)") >= step {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: from))
        try bytes.prefix(2).write(to: URL(fileURLWithPath: to))
        throw Stop()
      }
      try FileSystem.real.copy(from, to)
    }
    return system
  }

  @Test func whatStandsThereStays() throws {
    let bench = try Workbench()
    try bench.write("another's", to: "Done.sqlite")
    let error = #expect(throws: StoreRecoveryError.self) {
      try bench.recovery().makeWhole { try Data("ours".utf8).write(to: $0) }
    }
    #expect(error?.code == .inUse)
    #expect(bench.bytes("Done.sqlite") == Data("another's".utf8))
    #expect(bench.names(bench.incompatible) == [".lease"])
  }
}
