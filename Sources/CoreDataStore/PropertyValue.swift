package import StoreFiles
public import SQLiteFile
import SafeText

/// A property's value, in the property's type according to the model.
public enum PropertyValue: Sendable, Hashable {
  /// No value.
  case null
  /// A whole number.
  case integer(Int64)
  /// A floating-point number. This includes decimals, because a store keeps a decimal as a 64-bit float.
  case real(Double)
  /// A Boolean value.
  case boolean(Bool)
  /// Text, or a URI.
  case string(StoredText)
  /// A point in time.
  case date(ReferenceDate)
  /// A UUID, 16 bytes.
  case uuid([UInt8])
  /// A sequence of bytes.
  case binary([UInt8])
  /// A binary value that is kept in an external file.
  case external(ExternalBlob)
  /// A reference to the destination of a to-one relationship.
  case toOne(ObjectReference)
  /// References to the destinations of a many-to-many relationship, in the relationship's order if it is ordered.
  case toMany([ObjectReference])
}

/// A reference to the row that a relationship leads to.
public struct ObjectReference: Sendable, Hashable {
  /// The name of the row's entity; nil when the store does not record the entity.
  public let entityName: String?
  /// The row's primary key in the table of its entity.
  public let primaryKey: Int64

  package init(entityName: String?, primaryKey: Int64) {
    self.entityName = entityName
    self.primaryKey = primaryKey
  }
}

/// A date as Core Data stores it: the number of seconds since 2001-01-01T00:00:00Z.
public struct ReferenceDate: Sendable, Hashable {
  /// The number of seconds since 2001-01-01T00:00:00Z.
  public let seconds: Double

  /// Makes a date from the number of seconds since 2001-01-01T00:00:00Z.
  public init(seconds: Double) { self.seconds = seconds }

  /// The date as ISO 8601 in UTC, with up to six decimal places of a second, for example `2026-11-20T21:53:07.25Z`. Nil
  /// for a year below 0 or above 9999, because the format has four digits for the year.
  public var iso8601: String? {
    guard let moment else { return nil }
    let second = moment.secondOfDay
    var text = padded(moment.year, 4) + "-" + padded(moment.month, 2) + "-"
    text += padded(moment.day, 2)
    text += "T" + padded(second / 3600, 2) + ":" + padded(second / 60 % 60, 2)
    text += ":" + padded(second % 60, 2)
    if moment.microseconds > 0 {
      var digits = padded(moment.microseconds, 6)
      while digits.utf8.last == UInt8(ascii: "0") { digits.removeLast() }
      text += "." + digits
    }
    return text + "Z"
  }

  /// A date of the Gregorian calendar in UTC, the number of full seconds since midnight, and the number of microseconds
  /// after the last full second.
  package typealias Moment = (
    year: Int, month: Int, day: Int, secondOfDay: Int, microseconds: Int
  )

  /// The date as a calendar date and a time of day, rounded to microseconds; nil outside the years 0 to 9999.
  package var moment: Moment? {
    guard seconds.isFinite, abs(seconds) < 1e12 else { return nil }
    var whole = seconds.rounded(.down)
    var micro = Int(((seconds - whole) * 1_000_000).rounded())
    if micro == 1_000_000 {
      whole += 1
      micro = 0
    }
    let total = Int64(whole)
    let dayCount = total >= 0 ? total / 86_400 : (total - 86_399) / 86_400
    let date = CivilDate(dayNumber: Int(dayCount) + 730_791)
    guard (0...9999).contains(date.year) else { return nil }
    return (date.year, date.month, date.day, Int(total - dayCount * 86_400), micro)
  }
}

/// A binary value that Core Data keeps in a file beside the store.
public struct ExternalBlob: Sendable, Hashable {
  /// The name of the file, which is a UUID.
  public let identifier: String
  /// The path where Core Data keeps the file: in the folder `_EXTERNAL_DATA` of the store's support folder.
  public let path: String
  /// The file's size in bytes; nil when the file is missing or cannot be read.
  public let sizeBytes: Int64?
  /// The reason why the file cannot be read, for example "a symbolic link, not the file that it leads to"; nil when it
  /// can be read or is missing.
  public let unreadable: String?
  /// Whether this user lacks the permission to look for the file or to read it.
  package let isRefused: Bool

  /// Returns the UUID in a stored value that refers to an external file. Such a value consists of the byte `0x02`, the
  /// 36 characters of the UUID and a zero byte. Returns nil for any other value.
  package static func identifier(in stored: [UInt8]) -> String? {
    guard stored.count == 38, stored[0] == 2, stored[37] == 0 else { return nil }
    let name = stored[1..<37]
    // Only a UUID may become part of a path.
    for (index, byte) in name.enumerated() {
      let isDash = [8, 13, 18, 23].contains(index)
      let isHexadecimal =
        (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
      guard isDash ? byte == 0x2d : isHexadecimal else { return nil }
    }
    return String(decoding: name, as: UTF8.self)
  }

  package init(identifier: String, storePath: String) {
    self.identifier = identifier
    path = StoreSet.supportPath(of: storePath) + "/_EXTERNAL_DATA/" + identifier
    do throws(SQLiteFileError) {
      sizeBytes = try ByteFile(path).size
      unreadable = nil
      isRefused = false
    } catch {
      sizeBytes = nil
      unreadable = error.code == .missing ? nil : error.message
      isRefused = error.code == .permission
    }
  }
}

extension StoreSet {
  /// Returns the path of the support folder of the store at `mainPath`.
  package static func supportPath(of mainPath: String) -> String {
    PathText.joined(
      PathText.folder(of: mainPath), supportName(for: PathText.lastComponent(of: mainPath)))
  }
}
