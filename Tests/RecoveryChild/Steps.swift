import CLibrary
import StoreFiles
import SafeFiles
import Foundation
import StoreRecovery

/// The calls that change the file system, counted, with one at which the process ends.
///
/// | option | meaning |
/// | --- | --- |
/// | `at=N` | the call meant, from 1 on |
/// | `end=before`, `after`, `inside` | ends the process there without a word; `inside` leaves a half-written file |
/// | `links=no`, `links=other` | a volume without links, or the quarantine on another volume |
/// | `chunk=N` | ends the process before the Nth piece of a file is read for a seal |
/// | `ticks=` | one byte on standard output before each call |
/// | `sync=real` | waits for the device, which no process can see |
final class Steps: @unchecked Sendable {
  private let lock = NSLock()
  private var number = 0
  private var kinds: [String] = []
  private var events: [String] = []
  private let options: [String: String]
  private let target: Int

  init(_ options: [String: String]) {
    self.options = options
    target = options["at"].flatMap { Int($0) } ?? -1
  }

  var count: Int { lock.withLock { number } }
  var names: String { lock.withLock { kinds.joined(separator: " ") } }

  /// What the app logs.
  func note(_ event: String) { lock.withLock { events.append(event) } }
  var notes: [String] { lock.withLock { events } }

  private var chunks = 0

  /// Asked before each piece of a file is read.
  var chunk: @Sendable () -> Bool {
    let last = options["chunk"].flatMap { Int($0) } ?? -1
    return { [self] in
      let now = lock.withLock {
        chunks += 1
        return chunks
      }
      if now == last { _exit(Self.ended) }
      return false
    }
  }

  /// For a test that asks for one step more than there are: after the last.
  func finish() {
    if target > count { _exit(Self.ended) }
  }

  static let ended: Int32 = 77

  private func around<Result>(
    _ name: String, inside: () -> Void = {}, _ body: () throws -> Result
  ) rethrows -> Result {
    let now = lock.withLock {
      number += 1
      kinds.append(name)
      return number
    }
    if options["ticks"] != nil { FileHandle.standardOutput.write(Data([0x2e])) }
    let end = now == target ? options["end"] : nil
    if end == "inside" { inside() }
    if end == "before" || end == "inside" { _exit(Self.ended) }
    // After a call that failed, too.
    defer { if end == "after" { _exit(Self.ended) } }
    return try body()
  }

  private static func writeHalf(_ path: String, _ bytes: Data) {
    try? bytes.prefix(bytes.count / 2).write(to: URL(fileURLWithPath: path))
  }

  var fileSystem: FileSystem {
    let real = FileSystem.real
    let links = options["links"]
    let isSynced = options["sync"] == "real"
    var system = real
    system.link = { from, to in
      try self.around("link") {
        if links != nil { throw SystemCallError(call: "link", path: to, errno: EPERM) }
        try real.link(from, to)
      }
    }
    system.rename = { from, to in
      try self.around("rename") {
        let isAcross = from.contains("/Incompatible/") != to.contains("/Incompatible/")
        if links == "other", isAcross, !to.contains("/failed-fresh/") {
          throw SystemCallError(call: "rename", path: to, errno: EXDEV)
        }
        try real.rename(from, to)
      }
    }
    system.replace = { from, to in try self.around("replace") { try real.replace(from, to) } }
    system.unlink = { path, file in try self.around("unlink") { try real.unlink(path, file) } }
    system.makeFolder = { path, mode in
      try self.around("makeFolder", inside: { unsafe _ = mkdir(path, mode_t(mode)) }) {
        try real.makeFolder(path, mode)
      }
    }
    system.copyFolder = { from, to in
      try self.around("makeFolder", inside: { unsafe _ = mkdir(to, mode_t(0o700)) }) {
        try real.copyFolder(from, to)
      }
    }
    system.removeFolder = { path in try self.around("removeFolder") { try real.removeFolder(path) }
    }
    system.syncFile = { path in
      try self.around("syncFile") { if isSynced { try real.syncFile(path) } }
    }
    system.syncFolder = { path in
      try self.around("syncFolder") { if isSynced { try real.syncFolder(path) } }
    }
    system.copy = { from, to in
      try self.around(
        "copy",
        inside: {
          Self.writeHalf(to, FileManager.default.contents(atPath: from) ?? Data())
        }
      ) { try real.copy(from, to) }
    }
    system.write = { path, bytes in
      try self.around("write", inside: { Self.writeHalf(path, Data(bytes)) }) {
        try real.write(path, bytes)
      }
    }
    system.lock = { path in try self.around("lock") { try real.lock(path) } }
    system.setTraits = { path, traits in
      try self.around("setTraits") { try real.setTraits(path, traits) }
    }
    system.setModified = { path, time in
      try self.around("setModified") { try real.setModified(path, time) }
    }
    return system
  }
}

/// What a process may run out of.
enum Starvation {
  /// Leaves this process `extra` descriptors.
  static func limitFiles(extra: Int) {
    let next = dup(0)
    close(next)
    var limit = rlimit()
    limit.rlim_cur = rlim_t(Int(next) + extra)
    limit.rlim_max = limit.rlim_cur
    #if canImport(Glibc)
      let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
      unsafe _ = setrlimit(resource, &limit)
    #else
      unsafe _ = setrlimit(RLIMIT_NOFILE, &limit)
    #endif
  }

  /// A signal every 50 microseconds that breaks off system calls.
  static func interruptCalls() {
    var action = sigaction()
    #if canImport(Glibc)
      unsafe action.__sigaction_handler.sa_handler = { _ in }
    #elseif canImport(Darwin)
      unsafe action.__sigaction_u.__sa_handler = { _ in }
    #endif
    unsafe _ = sigaction(SIGALRM, &action, nil)
    var timer = itimerval()
    timer.it_interval.tv_usec = 50
    timer.it_value.tv_usec = 50
    #if canImport(Glibc)
      unsafe _ = setitimer(__itimer_which_t(ITIMER_REAL.rawValue), &timer, nil)
    #else
      unsafe _ = setitimer(ITIMER_REAL, &timer, nil)
    #endif
  }

  /// Blocks until somebody opens the other end of a named pipe.
  static func waitAt(_ gate: String) { _ = unsafe open(gate, O_RDONLY) }
}
