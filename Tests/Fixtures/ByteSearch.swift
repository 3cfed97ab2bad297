import CLibrary
public import Foundation

extension Data {
  /// Whether some bytes stand in these. Foundation's own search takes many times as long, and some tests look for
  /// thousands of texts in megabytes.
  public func holds(_ bytes: Data) -> Bool {
    guard let first = bytes.first else { return true }
    return unsafe withUnsafeBytes { whole in
      unsafe bytes.withUnsafeBytes { part in
        guard var place = whole.baseAddress, let wanted = part.baseAddress else { return false }
        var left = whole.count
        while left >= part.count {
          guard let found = unsafe memchr(place, Int32(first), left - part.count + 1) else {
            return false
          }
          if unsafe memcmp(found, wanted, part.count) == 0 { return true }
          unsafe left -= UnsafeRawPointer(found) - place + 1
          unsafe place = UnsafeRawPointer(found) + 1
        }
        return false
      }
    }
  }

  /// Whether the UTF-8 form of a text stands in these bytes.
  public func holds(_ text: String) -> Bool { holds(Data(text.utf8)) }
}
