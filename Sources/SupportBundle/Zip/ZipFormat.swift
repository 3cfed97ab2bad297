/// Signatures, sizes, limits and fixed field values of the zip format. All integers in the format are little-endian.
///
/// Source: PKWARE's APPNOTE.TXT 6.3.10; the clause is named beside each structure.
enum ZipFormat {
  /// The signature and size of a local file header (APPNOTE 4.3.7).
  static let localSignature: UInt32 = 0x0403_4b50
  static let localSize = 30
  /// The signature and size of a central directory header (APPNOTE 4.3.12).
  static let centralSignature: UInt32 = 0x0201_4b50
  static let centralSize = 46
  /// The signature and size of a Zip64 end of central directory record (APPNOTE 4.3.14), without its extensible data
  /// sector.
  static let end64Signature: UInt32 = 0x0606_4b50
  static let end64Size = 56
  /// The number of bytes that are not counted in the size field of the Zip64 end record: the signature (4) and the size
  /// field itself (8).
  static let end64SizeExcludes = 12
  /// The signature and size of a Zip64 end of central directory locator (APPNOTE 4.3.15).
  static let locatorSignature: UInt32 = 0x0706_4b50
  static let locatorSize = 20
  /// The signature and size of an end of central directory record (APPNOTE 4.3.16).
  static let endSignature: UInt32 = 0x0605_4b50
  static let endSize = 22
  static let maxCommentSize = 0xFFFF

  /// The id of the extra field with Zip64 sizes and offsets (APPNOTE 4.5.3).
  static let zip64ExtraID: UInt16 = 0x0001
  /// The value of a saturated field: a 16- or 32-bit field whose true value is in a Zip64 record or extra field
  /// (APPNOTE 4.4.1.4).
  static let saturated16: UInt16 = 0xFFFF
  static let saturated32: UInt32 = 0xFFFF_FFFF

  /// General purpose bits (APPNOTE 4.4.4).
  static let flagEncrypted: UInt16 = 1 << 0
  static let flagCompressionLevel: UInt16 = 0b110
  static let flagDataDescriptor: UInt16 = 1 << 3
  static let flagStrongEncryption: UInt16 = 1 << 6
  static let flagUTF8: UInt16 = 1 << 11
  static let flagMaskedHeaders: UInt16 = 1 << 13

  /// Compression methods (APPNOTE 4.4.5).
  static let methodStored: UInt16 = 0
  static let methodDeflated: UInt16 = 8

  /// The version needed to extract: 2.0 for deflate and folders, 4.5 for Zip64 (APPNOTE 4.4.3.2).
  static let versionPlain: UInt16 = 20
  static let versionZip64: UInt16 = 45
  /// The field `version made by` (APPNOTE 4.4.2): version 4.5 in the low byte, and the host system Unix (3) in the high
  /// byte, so that unzip programs apply the permissions in the external attributes.
  static let versionMadeBy: UInt16 = 3 << 8 | 45
  /// The time and date of each entry: 1980-01-01 00:00:00 in MS-DOS form, the earliest possible time (APPNOTE 4.4.6).
  static let fixedTime: UInt16 = 0
  static let fixedDate: UInt16 = 1 << 5 | 1
  /// The external attributes of each entry. On Unix, the upper 16 bits are the file type and mode: here a regular file
  /// with mode 0600.
  static let fixedAttributes: UInt32 = 0o100600 << 16

  /// The maximum number of uncompressed bytes that one byte of deflate data can encode: four matches of 258 bytes. A
  /// match needs at least two bits: one for its length code and one for its distance code.
  static let maxDeflateRatio: UInt64 = 1032

  /// The size of the deflate dictionary in bytes, which is the maximum distance of a match (RFC 1951, section 2).
  static let dictionary = 32 * 1024

  /// The size, in bytes, of the buffers with which files are read, compressed and hashed piece by piece.
  static let window = 256 * 1024
}
