package import ObjectModel

extension AttributeValidation {
  /// The validation rules for an attribute that an `.xcdatamodel` can express. Each rule stands for a predicate and an
  /// error code.
  ///
  /// The predicate and the error code of ``minimumNumber(_:)`` were seen in a real cached model. The predicates of the
  /// other rules are made in the same way. Their error codes are those of `NSValidationErrorCode` in Apple's
  /// documentation.
  package enum Form: Sendable, Hashable {
    /// The smallest number allowed (`minValueString`).
    case minimumNumber(ExpressionConstant)
    /// The largest number allowed (`maxValueString`).
    case maximumNumber(ExpressionConstant)
    /// The earliest date allowed (`minDateTimeInterval`), in seconds since the start of 2001, UTC.
    case earliestDate(Double)
    /// The latest date allowed (`maxDateTimeInterval`), in seconds since the start of 2001, UTC.
    case latestDate(Double)
    /// The minimum length of a string in characters (`minValueString`).
    case minimumLength(Int64)
    /// The maximum length of a string in characters (`maxValueString`).
    case maximumLength(Int64)
    /// The regular expression that the entire text must match (`regularExpressionString`).
    case pattern(String)

    /// The rule as a compiled model contains it: a predicate and an error code.
    package var validation: AttributeValidation {
      let (left, sign, right, code):
        (ModelExpression, ModelPredicate.Operator, ExpressionConstant, Int64) =
          switch self {
          case .minimumNumber(let limit): (.evaluatedObject, .greaterThanOrEqual, limit, 1620)
          case .maximumNumber(let limit): (.evaluatedObject, .lessThanOrEqual, limit, 1610)
          case .earliestDate(let date): (.evaluatedObject, .greaterThanOrEqual, .date(date), 1640)
          case .latestDate(let date): (.evaluatedObject, .lessThanOrEqual, .date(date), 1630)
          case .minimumLength(let count):
            (.path("length"), .greaterThanOrEqual, .integer(count), 1670)
          case .maximumLength(let count):
            (.path("length"), .lessThanOrEqual, .integer(count), 1660)
          case .pattern(let pattern): (.evaluatedObject, .matches, .string(pattern), 1680)
          }
      return AttributeValidation(
        predicate: .compare(left, sign, .constant(right)), warning: .integer(code))
    }
  }

  /// The rule as an `.xcdatamodel` contains it; nil for a rule that an `.xcdatamodel` cannot express.
  package var form: Form? {
    guard case .comparison(let comparison) = predicate, comparison.modifier == .direct,
      case .constant(let limit) = comparison.right
    else { return nil }
    let form: Form
    switch (comparison.left, comparison.operator, limit) {
    case (.evaluatedObject, .greaterThanOrEqual, .date(let date)): form = .earliestDate(date)
    case (.evaluatedObject, .lessThanOrEqual, .date(let date)): form = .latestDate(date)
    case (.evaluatedObject, .greaterThanOrEqual, _): form = .minimumNumber(limit)
    case (.evaluatedObject, .lessThanOrEqual, _): form = .maximumNumber(limit)
    case (.keyPath("length", of: .evaluatedObject), .greaterThanOrEqual, .integer(let count)):
      form = .minimumLength(count)
    case (.keyPath("length", of: .evaluatedObject), .lessThanOrEqual, .integer(let count)):
      form = .maximumLength(count)
    case (.evaluatedObject, .matches, .string(let pattern)): form = .pattern(pattern)
    default: return nil
    }
    return form.validation == self ? form : nil
  }
}
