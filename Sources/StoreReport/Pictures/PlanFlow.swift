import ModelTools
import Terminal

/// A picture of a migration: the versions are boxes from top to bottom, and the steps between the versions are arrows.
struct PlanFlow {
  /// A box of the picture: the name of a version, and a note below the name.
  fileprivate struct Place {
    let name: String
    let note: String
    let isEnd: Bool
  }

  /// An arrow from one box to the next, which stands for a step, and the lines of text next to the arrow.
  fileprivate struct Arrow {
    let way: PlanPage.Step.Way
    let words: [String]
    var isLoss = false
  }

  private var places: [Place] = []
  private var arrows: [Arrow] = []
  /// The single step that Core Data would do by itself, drawn as an arrow from the first box to the last. Nil if the
  /// arrow is not drawn, because the plan has fewer than two steps, or because no sequence of steps leads to the
  /// target.
  private let direct: PlanPage.Step?

  private static let maxSteps = 30
  /// The maximum number of lines of text beside an arrow.
  fileprivate static let maxLines = 4
  private static let (left, boxWidth, boxHeight, margin) = (70, 380, 46, 12)
  private static let (width, line) = (900, 18)

  init(
    start: String, target: String, steps: [PlanPage.Step]?, direct: PlanPage.Step?,
    obstacle: PlanPage.Step?
  ) {
    self.direct = steps.map { $0.count > 1 } ?? false ? direct : nil
    guard let steps else {
      places.append(Place(name: start, note: "the store's version", isEnd: true))
      guard let obstacle else {
        arrows.append(Arrow(way: .refused, words: ["no way"]))
        places.append(Place(name: target, note: "the target", isEnd: true))
        return
      }
      // Only the step that fails is known. One arrow stands for all steps before this step, and one for all steps after
      // it.
      if obstacle.from != start {
        arrows.append(Arrow(way: .inferred, words: ["possible"]))
        places.append(
          Place(name: obstacle.from, note: "the last version that can be reached", isEnd: false))
      }
      arrows.append(Arrow(obstacle))
      if obstacle.to != target {
        places.append(Place(name: obstacle.to, note: "", isEnd: false))
        arrows.append(Arrow(way: .uncertain, words: ["not reached"]))
      }
      places.append(Place(name: target, note: "the target", isEnd: true))
      return
    }
    if steps.isEmpty {
      places.append(Place(name: target, note: "the store's version, and the target", isEnd: true))
      return
    }
    places.append(Place(name: steps[0].from, note: "the store's version", isEnd: true))
    let head = steps.count > Self.maxSteps ? Self.maxSteps - 1 : steps.count
    for (number, step) in steps.prefix(head).enumerated() {
      arrows.append(Arrow(step, number: number + 1))
      let isLast = number + 1 == steps.count
      places.append(Place(name: step.to, note: isLast ? "the target" : "", isEnd: isLast))
    }
    if head < steps.count {
      arrows.append(
        Arrow(way: .uncertain, words: ["\(Quantity.count(steps.count - head)) more steps"]))
      places.append(Place(name: target, note: "the target", isEnd: true))
    }
  }

  // MARK: - The picture

  private func gap(_ arrow: Arrow) -> Int { max(52, arrow.words.count * Self.line + 22) }

  var svg: String {
    let height =
      places.count * Self.boxHeight + arrows.reduce(0) { $0 + gap($1) } + 2 * Self.margin
    let title =
      "The versions from top to bottom, and the steps between them; the lists below say the same"
    var text = ""
    var y = Self.margin
    for (number, place) in places.enumerated() {
      text += box(place, y)
      y += Self.boxHeight
      guard number < arrows.count else { break }
      text += arrow(arrows[number], y)
      y += gap(arrows[number])
    }
    if let direct { text += arc(direct, height) }
    return PictureStyle.svg(Self.width, height, "flow", title: title, text)
  }

  private func box(_ place: Place, _ y: Int) -> String {
    let name = PictureText.html(PictureText.clipped(place.name, to: 50))
    let middle = Self.left + Self.boxWidth / 2
    var text = "<g class=\"place\(place.isEnd ? " end" : "")\">"
    text += "<title>\(PictureText.html(place.name))</title>"
    text +=
      "<rect x=\"\(Self.left)\" y=\"\(y)\" width=\"\(Self.boxWidth)\" height=\"\(Self.boxHeight)\" rx=\"6\"/>"
    text +=
      "<text class=\"label strong middle\" x=\"\(middle)\" y=\"\(y + (place.note.isEmpty ? 28 : 20))\">\(name)</text>"
    if !place.note.isEmpty {
      text +=
        "<text class=\"label quiet middle\" x=\"\(middle)\" y=\"\(y + 37)\">\(place.note)</text>"
    }
    return text + "</g>"
  }

  private func arrow(_ arrow: Arrow, _ y: Int) -> String {
    let x = Self.left + Self.boxWidth / 2
    let gap = gap(arrow)
    var text = "<g class=\"way \(arrow.way.rawValue)\"><path d=\"M\(x) \(y)v\(gap - 2)\"/>"
    text += "<path class=\"tip\" d=\"M\(x - 6) \(y + gap - 10)l6 9l6 -9\"/>"
    if arrow.way == .refused {
      text += "<path class=\"tip\" d=\"M\(x - 8) \(y + gap / 2 - 10)l16 16m0 -16l-16 16\"/>"
    }
    text += "</g>"
    var line = y + (gap - arrow.words.count * Self.line) / 2 + 13
    for (number, words) in arrow.words.enumerated() {
      let isLoss = arrow.isLoss && number == arrow.words.count - 1
      let style =
        number == 0 ? "label strong" : isLoss ? "label loss" : "label"
      // Backticks mark code in HTML pages. The picture has no such markup, so the backticks are removed.
      let plain = String(decoding: words.utf8.filter { $0 != UInt8(ascii: "`") }, as: UTF8.self)
      let shown = PictureText.html(PictureText.clipped(plain, to: number == 0 || isLoss ? 76 : 92))
      text += "<text class=\"\(style)\" x=\"\(x + 22)\" y=\"\(line)\">\(shown)</text>"
      line += Self.line
    }
    return text
  }

  /// Returns an arrow for the migration in one step, ``direct``: a curve on the left of the boxes, from the first box
  /// to the last.
  private func arc(_ direct: PlanPage.Step, _ height: Int) -> String {
    let top = Self.margin + Self.boxHeight / 2
    let bottom = height - Self.margin - Self.boxHeight / 2
    let middle = (top + bottom) / 2
    var words =
      switch direct.way {
      case .refused: "in one step: cannot be done"
      case .uncertain: "in one step: not known whether possible"
      case .inferred: "in one step: inferred"
      case .mapping: "in one step: mapping model"
      }
    if !direct.losses.isEmpty {
      words += ", leaves behind \(Quantity.count(direct.losses.count))"
    }
    var text = "<g class=\"way \(direct.way.rawValue)\">"
    text +=
      "<path d=\"M\(Self.left) \(top)H44Q34 \(top) 34 \(top + 10)V\(bottom - 10)Q34 \(bottom) 44 \(bottom)H\(Self.left - 2)\"/>"
    text += "<path class=\"tip\" d=\"M\(Self.left - 10) \(bottom - 6)l9 6l-9 6\"/>"
    if direct.way == .refused {
      text += "<path class=\"tip\" d=\"M26 \(middle - 8)l16 16m0 -16l-16 16\"/>"
    }
    text += "</g>"
    return text
      + "<text class=\"label quiet middle\" transform=\"translate(20 \(middle)) rotate(-90)\">\(words)</text>"
  }
}

extension PlanFlow.Arrow {
  /// Makes the arrow of a step. The text of the arrow begins with `number`, the number of the step. If the step leaves
  /// entities or properties behind, the text ends with their names.
  fileprivate init(_ step: PlanPage.Step, number: Int? = nil) {
    var words = step.lines
    if step.way == .refused { words.insert("cannot be done", at: 0) }
    if let number, let first = words.first { words[0] = "\(number). \(first)" }
    let limit = PlanFlow.maxLines - (step.losses.isEmpty ? 0 : 1)
    if words.count > limit {
      let rest = words.count - limit + 1
      words = words.prefix(limit - 1) + ["and \(Quantity.count(rest)) more, below"]
    }
    if !step.losses.isEmpty {
      // Counts the names of losses that fit into the line.
      var shown = 1
      var length = step.losses[0].utf8.count
      while shown < step.losses.count, length + step.losses[shown].utf8.count < 48 {
        length += step.losses[shown].utf8.count + 2
        shown += 1
      }
      let rest = step.losses.count - shown
      words.append(
        "leaves behind \(step.losses.prefix(shown).joined(separator: ", "))"
          + (rest > 0 ? " and \(Quantity.count(rest)) more" : ""))
    }
    self.init(way: step.way, words: words, isLoss: !step.losses.isEmpty)
  }
}
