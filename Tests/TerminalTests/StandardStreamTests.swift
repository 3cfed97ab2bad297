import Foundation
import Testing

@testable import Terminal

/// Bytes counted on one thread, and read when that has ended.
private final class Count: @unchecked Sendable {
  var bytes = 0
}

/// Answers to writes, given one after the other: a byte count, or an errno as a negative number.
private final class Device: @unchecked Sendable {
  private let lock = NSLock()
  private var answers: [Int]
  private var taken: [UInt8] = []
  private var waits = 0

  init(_ answers: [Int]) { self.answers = answers }

  var bytes: [UInt8] { lock.withLock { taken } }
  var waitCount: Int { lock.withLock { waits } }

  var calls: StreamCalls {
    var calls = StreamCalls()
    unsafe calls.write = { _, bytes in
      self.lock.withLock {
        let answer = self.answers.isEmpty ? bytes.count : self.answers.removeFirst()
        if answer < 0 {
          errno = Int32(-answer)
          return -1
        }
        let count = min(answer, bytes.count)
        self.taken += unsafe Array(bytes.prefix(count))
        return count
      }
    }
    calls.waitUntilWritable = { _ in self.lock.withLock { self.waits += 1 } }
    return calls
  }
}

@Suite struct StandardStreamTests {
  @Test func interruptionsPartialWritesAndFullPipesLoseNothing() throws {
    let device = Device([
      1, -Int(EINTR), 2, -Int(EAGAIN), -Int(EAGAIN), 3, -Int(EINTR), 1,
    ])
    let stream = StandardStream(descriptor: 9, capacity: 8, calls: device.calls)
    let text = String(repeating: "Zeile ä\n", count: 100)
    try stream.write(text)
    try stream.writeLine("end")
    try stream.flush()
    #expect(String(decoding: device.bytes, as: UTF8.self) == text + "end\n")
    #expect(device.waitCount == 2)
  }

  /// JSON for a terminal is escaped, JSON for a file is as it is.
  @Test(arguments: [true, false]) func jsonForATerminal(_ isTerminal: Bool) throws {
    let device = Device([])
    let stream = StandardStream(
      descriptor: 9, capacity: 0, calls: device.calls, isTerminal: isTerminal)
    try stream.write(json: "[\"\u{9B}\u{202E}ä\"]\n")
    #expect(
      String(decoding: device.bytes, as: UTF8.self)
        == (isTerminal ? "[\"\\u009b\\u202eä\"]\n" : "[\"\u{9B}\u{202E}ä\"]\n"))
  }

  @Test(
    arguments: [
      (EPIPE, StreamError.Code.closed), (ENOSPC, .full), (EIO, .writeFailed), (EBADF, .writeFailed),
    ])
  func refusalIsThrownAndStays(_ error: Int32, _ code: StreamError.Code) {
    let device = Device([2, -Int(error)])
    let stream = StandardStream(descriptor: 9, capacity: 1000, calls: device.calls)
    #expect(throws: Never.self) { try stream.write("abcdef") }
    let first = #expect(throws: StreamError.self) { try stream.flush() }
    #expect(first?.code == code)
    #expect(first?.systemError == error)
    let second = #expect(throws: StreamError.self) { try stream.write("more") }
    #expect(second == first)
    #expect(device.bytes == Array("ab".utf8))
  }

  @Test func aDeviceThatTakesNothingIsNotTriedForever() {
    let stream = StandardStream(descriptor: 9, capacity: 0, calls: Device([0]).calls)
    #expect(throws: StreamError.self) { try stream.write("x") }
  }

  @Test func bufferIsWrittenWhenFullAndAtTheEnd() throws {
    let device = Device([])
    do {
      let stream = StandardStream(descriptor: 9, capacity: 4, calls: device.calls)
      try stream.write("abcd")
      #expect(device.bytes.isEmpty)
      try stream.write("e")
      #expect(device.bytes == Array("abcde".utf8))
      try stream.write("f")
    }
    #expect(device.bytes == Array("abcdef".utf8))
  }

  /// The reader has a thread of its own. As a task it waits for one of the pool's few threads, behind all other tests,
  /// while this test holds another of them.
  @Test func realPipeThatDoesNotBlock() throws {
    var ends: [Int32] = [-1, -1]
    let result = unsafe pipe(&ends)
    try #require(result == 0)
    let (reading, writing) = (ends[0], ends[1])
    _ = fcntl(writing, F_SETFL, O_NONBLOCK)
    let received = Count()
    let isDone = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      var buffer = [UInt8](repeating: 0, count: 10_000)
      while true {
        let count = unsafe read(reading, &buffer, buffer.count)
        if count <= 0 { break }
        received.bytes += count
      }
      isDone.signal()
    }
    let stream = StandardStream(descriptor: writing)
    for _ in 0..<1000 { try stream.write(String(repeating: "x", count: 999)) }
    try stream.flush()
    close(writing)
    isDone.wait()
    #expect(received.bytes == 999_000)
    close(reading)
  }

  @Test func realPipeWithoutReader() throws {
    signal(SIGPIPE, SIG_IGN)
    var ends: [Int32] = [-1, -1]
    let result = unsafe pipe(&ends)
    try #require(result == 0)
    close(ends[0])
    let stream = StandardStream(descriptor: ends[1], capacity: 0)
    let error = #expect(throws: StreamError.self) { try stream.write("x") }
    #expect(error?.code == .closed)
    close(ends[1])
  }
}
