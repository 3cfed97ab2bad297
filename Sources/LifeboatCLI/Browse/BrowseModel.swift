import SafeText
import StoreExtraction
import Terminal

/// The state of the browser: its views, prompt and messages. The model does not use a terminal, a thread or a store.
///
/// ``press(_:)`` applies a key, and ``take(_:)`` applies an answer of ``BrowseSource``. ``requests`` has the requests
/// to ``BrowseSource``.
struct BrowseModel: Sendable {
  let name: String
  /// The views that were opened, oldest first; the last one is shown. The array is never empty.
  var views: [BrowseView]
  var prompt: BrowsePrompt?
  /// The message about the last key or answer, for example an error or "not found"; nil when there is no message.
  var message: String?
  /// The work that is in progress, for example "counting, 12%"; empty when no work is in progress.
  var working = ""
  /// Whether Esc stops the work that is in progress.
  var isStoppable = true
  private(set) var isFinished = false
  /// The requests that ``takeRequests()`` has not returned yet.
  private(set) var requests: [BrowseRequest] = [.contents]
  private(set) var rows = 24
  private(set) var columns = 80

  /// The maximum number of elements of ``views``. When it is exceeded, the second oldest view is removed.
  private static let maxViews = 100
  /// The maximum length of the text in a prompt, in Unicode scalars.
  private static let maxPrompt = 200
  /// The number of screen lines that do not belong to the view: the title line, and two lines at the foot.
  static let frame = 3

  init(name: String) {
    self.name = name
    views = [.list(ListView(.contents, title: "Entities and tables"))]
  }

  /// The number of screen lines that the view itself may take.
  var height: Int { max(rows - Self.frame, 1) }

  /// Returns the requests that were made since the last call of this method, oldest first, and empties ``requests``.
  mutating func takeRequests() -> [BrowseRequest] {
    defer { requests = [] }
    return requests
  }

  mutating func ask(_ request: BrowseRequest) { requests.append(request) }

  var view: BrowseView {
    get { views[views.count - 1] }
    set { views[views.count - 1] = newValue }
  }

  mutating func resize(rows: Int, columns: Int) {
    self.rows = max(rows, 1)
    self.columns = max(columns, 1)
    settle()
  }

  // MARK: - Views

  mutating func push(_ view: BrowseView) {
    views.append(view)
    // The first view is never removed, so that the user can always go back to it.
    if views.count > Self.maxViews { views.remove(at: 1) }
    message = nil
    settle()
  }

  /// Stops the work in progress, or goes back to the previous view.
  ///
  /// The previous view appears if no work can be stopped, or if the work was the counting of rows. After any other
  /// work, the view stays open if it has something to show. If it has nothing to show, because filtering or sorting was
  /// stopped, the rows appear as they were before. Otherwise the previous view appears.
  mutating func back() {
    message = nil
    if !working.isEmpty, isStoppable {
      // If the work was the counting of rows, Esc also closes the view. Otherwise the view stays open if it has
      // something to show.
      let isCounting = PathText.starts(working, with: "counting")
      working = ""
      ask(.cancel)
      if isShowingSomething, !isCounting { return message = "stopped" }
      // Filtering or sorting was stopped, so the previous rows are shown again.
      if !isCounting, case .rows(let rows) = view, let previous = rows.previous.first {
        view = .rows(previous)
        message = "stopped"
        return settle()
      }
    }
    guard views.count > 1 else {
      message = "there is nothing to go back to; q quits"
      return
    }
    views.removeLast()
    // The view that is shown now may have uncounted rows, so the counting continues.
    if case .rows(let rows) = view, let window = rows.window, window.work != nil {
      ask(.rows(rows.query, window.start..<window.start + max(window.rows.count, 1)))
    }
    settle()
  }

  /// Whether the view has something to show. Such a view stays open when the work for it is stopped.
  private var isShowingSomething: Bool {
    switch view {
    case .list(let list): list.isLoaded
    case .rows(let rows): rows.window?.rows.isEmpty == false
    case .text(let text): text.isLoaded
    }
  }

  mutating func perform(_ action: BrowseAction) {
    switch action {
    case .none: message = "there is nothing to open on this line"
    case .rows(let query): push(.rows(RowsView(query)))
    case .row(let reference):
      push(.list(ListView(.row(reference), title: "…")))
      ask(.row(reference))
    case .value(let reference, let property):
      push(.text(.loading(.value(reference, property: property), property)))
      ask(.value(reference, property: property))
    case .text(let title, let lines):
      push(.text(TextView(.fixed, BrowseText(title: title, lines: lines))))
    case .page(let number):
      push(.text(.loading(.page(number), "page \(Quantity.count(number))")))
      ask(.page(number))
    case .sort(let path):
      change { query in
        query.isDescending = query.sort == path && !query.isDescending
        query.sort = path
      }
    case .section(let path): change { $0.section = path }
    }
  }

  /// Closes the list of key paths, and changes the query of the rows view from which the list was opened.
  private mutating func change(_ body: (inout RowsQuery) -> Void) {
    views.removeLast()
    changeRows(body)
  }

  /// Changes the query of the shown rows view. The old view is kept in ``RowsView/previous``, and is shown again if the
  /// user stops the new query.
  mutating func changeRows(_ body: (inout RowsQuery) -> Void) {
    guard case .rows(let old) = view else { return }
    var query = old.query
    body(&query)
    var new = RowsView(query)
    new.search = old.search
    if old.window?.rows.isEmpty == false {
      var kept = old
      kept.previous = []
      new.previous = [kept]
    } else {
      new.previous = old.previous
    }
    new.firstColumn = query.subject == old.query.subject ? old.firstColumn : 0
    view = .rows(new)
    message = nil
    settle()
  }

  // MARK: - Keys

  /// Handles a key: in the prompt if a prompt is open, else in the present view.
  mutating func press(_ key: Key) {
    if prompt != nil { return pressInPrompt(key) }
    message = nil
    switch key {
    case .control("c"), .text("q"): isFinished = true
    case .escape, .backspace: back()
    case .text("?"):
      push(.text(TextView(.fixed, BrowseText(title: "Keys", lines: BrowseHelp.lines))))
    case .text("F"):
      if case .list(let list) = view, list.kind == .findings { return }
      push(.list(ListView(.findings, title: "Findings")))
      ask(.findings)
    case .text("P"):
      if case .list(let list) = view, list.kind == .pages { return }
      push(.list(ListView(.pages, title: "Pages")))
      ask(.pages)
    case .text("/"): prompt = BrowsePrompt(kind: .search)
    case .text("n"): search(forward: true)
    case .text("N"): search(forward: false)
    default:
      switch view {
      case .list: pressInList(key)
      case .rows: pressInRows(key)
      case .text: pressInText(key)
      }
    }
    settle()
  }

  private mutating func pressInPrompt(_ key: Key) {
    guard var line = prompt else { return }
    switch key {
    case .text(let text):
      if line.text.unicodeScalars.count < Self.maxPrompt { line.text += text }
    case .backspace, .delete:
      if line.text.isEmpty { return prompt = nil }
      line.text.unicodeScalars.removeLast()
    case .control("u"): line.text = ""
    case .escape, .control("c"): return prompt = nil
    case .enter:
      prompt = nil
      finish(line)
      return settle()
    default: break
    }
    prompt = line
  }

  private mutating func finish(_ line: BrowsePrompt) {
    switch line.kind {
    case .search:
      guard !line.text.isEmpty else { return }
      switch view {
      case .list(var list):
        list.search = line.text
        view = .list(list)
      case .rows(var rows):
        rows.search = line.text
        view = .rows(rows)
      case .text(var text):
        text.search = line.text
        view = .text(text)
      }
      search(forward: true)
    case .filter: changeRows { $0.filter = line.text.isEmpty ? nil : line.text }
    case .key:
      guard case .rows(var rows) = view else { return }
      guard let key = Int64(line.text) else {
        return message = "a key must be an integer"
      }
      rows.soughtKey = key
      view = .rows(rows)
      ask(.place(rows.query, key: key))
    }
  }

  /// Searches the present view for the text of the last search: after the cursor, or before the cursor if `forward` is
  /// false.
  private mutating func search(forward: Bool) {
    switch view {
    case .list(var list):
      guard let text = list.search else { return message = "/ searches" }
      let filter = RowFilter(text)
      let found = Self.next(from: list.cursor, of: list.items.count, forward: forward) {
        filter.fits(list.items[$0].label) || filter.fits(list.items[$0].text)
      }
      guard let found else { return message = "\"\(text)\" is not in this list" }
      list.cursor = found
      view = .list(list)
    case .rows(var rows):
      guard let text = rows.search else { return message = "/ searches" }
      rows.soughtKey = nil
      view = .rows(rows)
      ask(.find(rows.query, text, from: rows.cursor, forward: forward))
      working = "searching"
      isStoppable = true
    case .text(var text):
      guard let wanted = text.search else { return message = "/ searches" }
      let filter = RowFilter(wanted)
      let found = Self.next(from: text.top, of: text.lineCount, forward: forward) {
        filter.fits(text.line($0))
      }
      guard let found else { return message = "\"\(wanted)\" is not in this text" }
      text.top = found
      view = .text(text)
    }
  }

  /// Searches a list of `count` items for the next item after `start` or, if `forward` is false, for the previous item.
  /// Returns the index of the first item for which `fits` returns true. The search continues at the other end of the
  /// list, and tests `start` last. Nil when `fits` returns true for no item.
  private static func next(
    from start: Int, of count: Int, forward: Bool, _ fits: (Int) -> Bool
  ) -> Int? {
    guard count > 0 else { return nil }
    for step in 1...count {
      let place = (start + (forward ? step : count - step % count)) % count
      if fits(place) { return place }
    }
    return nil
  }
}
