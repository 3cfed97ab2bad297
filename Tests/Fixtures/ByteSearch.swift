import CLibrary
public import Foundation

/// Bytes that are searched for in much data.
public struct SoughtBytes: Sendable {
  fileprivate let bytes: Data
  /// The offset of the greatest byte. It is rarer than others: stores are full of zeros, and texts of small letters.
  fileprivate let offset: Int

  /// Chooses what is looked for first.
  public init(_ bytes: Data) {
    self.bytes = bytes
    offset = bytes.enumerated().max { $0.element < $1.element }?.offset ?? 0
  }
}

extension Data {
  /// Whether this data contains `bytes`. Foundation's own search takes many times longer, and some tests look for
  /// thousands of texts in megabytes of data.
  public func holds(_ bytes: Data) -> Bool {
    // Each zero of a store would be a place to compare at.
    holds(bytes, lookingFor: bytes.enumerated().first { $0.element != 0 }?.offset ?? 0)
  }

  /// Whether this data contains `sought`.
  public func holds(_ sought: SoughtBytes) -> Bool {
    holds(sought.bytes, lookingFor: sought.offset)
  }

  /// Whether this data contains `bytes`. Looks for the byte at `offset`, and compares the others where it is found.
  private func holds(_ bytes: Data, lookingFor offset: Int) -> Bool {
    guard !bytes.isEmpty else { return true }
    guard count >= bytes.count else { return false }
    let mark = Int32(bytes[bytes.startIndex + offset])
    return unsafe withUnsafeBytes { whole in
      unsafe bytes.withUnsafeBytes { part in
        guard let start = whole.baseAddress, let wanted = part.baseAddress else { return false }
        var place = unsafe start + offset
        var left = whole.count - part.count + 1
        while left > 0 {
          guard let found = unsafe memchr(place, mark, left) else { return false }
          if unsafe memcmp(found - offset, wanted, part.count) == 0 { return true }
          unsafe left -= UnsafeRawPointer(found) - place + 1
          unsafe place = UnsafeRawPointer(found) + 1
        }
        return false
      }
    }
  }

  /// Whether this data contains the UTF-8 form of `text`.
  public func holds(_ text: String) -> Bool { holds(Data(text.utf8)) }
}
