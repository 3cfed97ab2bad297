package enum JSONValue: Codable, Equatable, Sendable {
  case null
  case boolean(Bool)
  case integer(Int64)
  case unsigned(UInt64)
  case real(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  package init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    if value.decodeNil() {
      self = .null
    } else if let text = try? value.decode(String.self) {
      self = .string(text)
    } else if let flag = try? value.decode(Bool.self) {
      self = .boolean(flag)
    } else if let number = try? value.decode(Int64.self) {
      self = .integer(number)
    } else if let number = try? value.decode(UInt64.self) {
      self = .unsigned(number)
    } else if let number = try? value.decode(Double.self) {
      self = .real(number)
    } else if let list = try? value.decode([JSONValue].self) {
      self = .array(list)
    } else {
      self = .object(try value.decode([String: JSONValue].self))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .boolean(let flag): try container.encode(flag)
    case .integer(let number): try container.encode(number)
    case .unsigned(let number): try container.encode(number)
    case .real(let number): try container.encode(number)
    case .string(let text): try container.encode(text)
    case .array(let list): try container.encode(list)
    case .object(let members): try container.encode(members)
    }
  }
}
