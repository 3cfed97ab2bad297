internal import Crypto
internal import Dispatch
internal import Foundation

enum EntrySource {
  case bytes([UInt8])
  case file(InputFile)

  /// The number of bytes of the source. For a file, this is the size at the time when the file was opened.
  var size: UInt64 {
    switch self {
    case .bytes(let bytes): UInt64(bytes.count)
    case .file(let file): file.size
    }
  }
}

/// Reads the bytes of an ``EntrySource`` in pieces of at most one window (256 KiB).
struct EntryPieces {
  private let source: EntrySource
  private var offset: UInt64 = 0
  private var buffer: [UInt8] = []

  init(_ source: EntrySource) {
    self.source = source
  }

  var isAtEnd: Bool { offset == source.size }

  /// Returns the next piece, which is never empty; nil at the end. Throws when a file has become shorter since it was
  /// opened.
  mutating func next() throws(BundleError) -> ArraySlice<UInt8>? {
    let left = source.size - offset
    guard left > 0 else { return nil }
    let wanted = min(ZipFormat.window, Int(clamping: left))
    switch source {
    case .bytes(let bytes):
      let start = Int(clamping: offset)
      offset += UInt64(wanted)
      return bytes[start..<start + wanted]
    case .file(let file):
      if buffer.count < wanted { buffer = [UInt8](repeating: 0, count: wanted) }
      let read = try file.read(at: offset, into: &buffer, count: wanted)
      guard read == wanted else { throw changed(file, "became shorter") }
      offset += UInt64(read)
      return buffer[..<read]
    }
  }

  /// Throws when a file has grown since it was opened.
  func expectEnd() throws(BundleError) {
    guard case .file(let file) = source else { return }
    var more: [UInt8] = [0]
    if try file.read(at: file.size, into: &more, count: 1) > 0 {
      throw changed(file, "grew")
    }
  }

  private func changed(_ file: InputFile, _ what: String) -> BundleError {
    BundleError(
      .changedWhileReading, "the file \(what) while it was packed", path: file.path,
      offset: offset)
  }
}

/// The CRC-32 and the SHA-256 of an entry, computed piece by piece.
struct EntryDigest {
  private(set) var crc = CRC32Sum()
  private var sha256 = SHA256()

  init() {}

  init(of piece: ArraySlice<UInt8>) { update(piece) }

  mutating func update(_ piece: ArraySlice<UInt8>) {
    crc.update(piece)
    sha256.update(data: piece)
  }

  var sha256Hex: String { sha256.finalize().hex }
}

/// Computes the CRC-32 and the SHA-256 of an entry, as `EntryDigest` does, but computes the SHA-256 on another thread.
final class DigestAlongside: @unchecked Sendable {
  private(set) var crc = CRC32Sum()
  private(set) var size: UInt64 = 0
  private let queue = DispatchQueue(label: "sha256")
  /// Limits memory: `update` waits while the queue has four pieces that are not hashed yet.
  private let room = DispatchSemaphore(value: 4)
  /// The SHA-256 of the bytes so far. Only closures on the queue use this value.
  private var sha256 = SHA256()

  func update(_ piece: ArraySlice<UInt8>) {
    crc.update(piece)
    size += UInt64(piece.count)
    room.wait()
    let bytes = Array(piece)
    queue.async { [self] in
      sha256.update(data: bytes)
      room.signal()
    }
  }

  var sha256Hex: String { queue.sync { sha256.finalize().hex } }
}
