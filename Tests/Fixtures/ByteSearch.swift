import CLibrary
public import Foundation

extension Data {
  /// Whether this data contains `bytes`. Foundation's own search takes many times longer, and some tests look for
  /// thousands of texts in megabytes of data.
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

  /// Whether this data contains the UTF-8 form of `text`.
  public func holds(_ text: String) -> Bool { holds(Data(text.utf8)) }
}
