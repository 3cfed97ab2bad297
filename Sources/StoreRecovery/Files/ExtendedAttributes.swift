import CLibrary
import SafeFiles

/// Extended attributes of a file or folder, including access control lists.
struct ExtendedAttributes {
  /// The values by attribute name; nil for a value that is too large or could not be read. Such a value is not copied.
  private var values: [[UInt8]: [UInt8]?] = [:]

  /// The maximum size of an attribute's value, in bytes.
  static let limit = 16 << 20

  var isEmpty: Bool { values.isEmpty }

  init(of descriptor: Int32, limit: Int = Self.limit) {
    let names = unsafe Self.bytes(Self.limit) { unsafe Self.list(descriptor, $0, $1) } ?? []
    for name in names.split(separator: 0).map(Array.init) where Self.isCarried(name) {
      let value = unsafe Self.bytes(limit) { unsafe Self.get(descriptor, Self.text(name), $0, $1) }
      values.updateValue(value, forKey: name)
    }
  }

  /// The attributes of the file or folder at a path; empty when the path cannot be opened, or names a symbolic link.
  init(ofPath path: String, limit: Int = Self.limit) {
    let descriptor = SystemCalls.openForReading(path)
    guard descriptor >= 0 else { return }
    values = ExtendedAttributes(of: descriptor, limit: limit).values
    _ = close(descriptor)
  }

  /// Sets these extended attributes on an open file or folder, as far as its volume supports them.
  func give(to descriptor: Int32) {
    for case (let name, let value?) in values { _ = Self.set(descriptor, Self.text(name), value) }
  }

  /// The names of the attributes that `other` lacks or has with another value.
  func missing(from other: ExtendedAttributes) -> [String] {
    values.filter { other.values[$0.key] != $0.value }.keys
      .map { String(decoding: $0, as: UTF8.self) }.sorted()
  }

  /// Whether the attribute `name` is copied. On Apple's systems, all attributes are copied. On Linux, only user
  /// attributes and access control lists are copied. Other attributes, such as security labels, belong to the location
  /// and not to the file.
  private static func isCarried(_ name: [UInt8]) -> Bool {
    #if canImport(Darwin)
      true
    #else
      name.starts(with: "user.".utf8) || name.starts(with: "system.posix_acl_".utf8)
    #endif
  }

  private static func text(_ name: [UInt8]) -> [CChar] {
    name.map { CChar(bitPattern: $0) } + [0]
  }

  /// The bytes that `call` writes into a buffer. `call` runs first without a buffer and returns the size. The result is
  /// nil when a call fails or the size exceeds `limit`.
  private static func bytes(
    _ limit: Int, _ call: (UnsafeMutableRawPointer?, Int) -> Int
  ) -> [UInt8]? {
    let count = call(nil, 0)
    guard count > 0, count <= limit else { return count == 0 ? [] : nil }
    var bytes = [UInt8](repeating: 0, count: count)
    let got = unsafe bytes.withUnsafeMutableBytes { unsafe call($0.baseAddress, $0.count) }
    return got >= 0 ? Array(bytes.prefix(got)) : nil
  }

  private static func list(
    _ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int
  ) -> Int {
    let buffer = unsafe buffer?.assumingMemoryBound(to: CChar.self)
    #if canImport(Darwin)
      return unsafe flistxattr(descriptor, buffer, count, 0)
    #else
      return unsafe flistxattr(descriptor, buffer, count)
    #endif
  }

  private static func get(
    _ descriptor: Int32, _ name: [CChar], _ buffer: UnsafeMutableRawPointer?, _ count: Int
  ) -> Int {
    #if canImport(Darwin)
      unsafe fgetxattr(descriptor, name, buffer, count, 0, 0)
    #else
      unsafe fgetxattr(descriptor, name, buffer, count)
    #endif
  }

  private static func set(_ descriptor: Int32, _ name: [CChar], _ value: [UInt8]) -> Int32 {
    #if canImport(Darwin)
      unsafe fsetxattr(descriptor, name, value, value.count, 0, 0)
    #else
      unsafe fsetxattr(descriptor, name, value, value.count, 0)
    #endif
  }
}
