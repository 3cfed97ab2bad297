/// The sentences of a ``ConsentText`` in one language. In the sentences, `{app}` stands for the name of the app, and
/// `{App}` stands for the same name at the start of a sentence.
struct ConsentWords {
  let title: String
  /// Why the app asks.
  let why: String
  /// The sentence about a bundle that contains no rows, only a description of the store.
  let structure: String
  /// The sentence about a bundle that contains rows in which tokens replace the values.
  let tokens: String
  /// The sentence about values that the bundle shows unchanged, although tokens replace all other values. Used if an
  /// allow-list names such values.
  let listed: String
  /// The sentence about a bundle that contains rows with their real values.
  let values: String
  /// The sentence that says what is in a bundle that contains the store's files.
  let store: String
  /// The sentence that says who can read an encrypted bundle.
  let sealed: String
  /// Says who can read a bundle that is not encrypted.
  let open: String
  /// Says that the user decides.
  let choice: String
  let buttons: (send: String, keep: String)
  /// The characters between two sentences: none in Japanese and Chinese.
  var joint = " "

  static let all: [String: ConsentWords] = [
    "en": english, "de": german, "fr": french, "es": spanish, "nb": norwegian, "ja": japanese,
    "zh-Hans": simplifiedChinese,
  ]

  static let english = ConsentWords(
    title: "Send a file to support?",
    why:
      "{App} can send a file that helps its support to find out why your data could not be opened.",
    structure:
      "The file says how your data is organised: which kinds of entries there are, how many, and what is wrong. It does not contain what you entered.",
    tokens:
      "The file says how your data is organised, and has a code in place of each thing you entered. The codes show which entries are equal, roughly how long texts and how large numbers are, and in which order things happened. They do not show what you entered, but someone who already knows a part of it might recognise it.",
    listed: "A few details that the support needs are readable.",
    values: "The file contains everything you entered in {app}, readable.",
    store:
      "The file contains all of your data in {app}, readable, with pictures and attachments, and also things you deleted that have not been overwritten yet.",
    sealed: "The file is encrypted. Only the support can read it.",
    open: "The file is not encrypted. Anyone who gets it can read it.",
    choice: "It is your decision. If you do not send it, nothing changes in the app.",
    buttons: ("Send", "Don’t Send"))

  static let german = ConsentWords(
    title: "Eine Datei an den Support senden?",
    why:
      "{App} kann eine Datei senden, die dem Support hilft herauszufinden, warum sich deine Daten nicht öffnen ließen.",
    structure:
      "Die Datei beschreibt, wie deine Daten aufgebaut sind: welche Arten von Einträgen es gibt, wie viele, und was nicht stimmt. Was du eingegeben hast, enthält sie nicht.",
    tokens:
      "Die Datei beschreibt, wie deine Daten aufgebaut sind. Alles, was du eingegeben hast, ist darin durch Codes ersetzt. Die Codes zeigen, welche Einträge gleich sind, wie lang Texte und wie groß Zahlen ungefähr sind und in welcher Reihenfolge etwas geschah. Was du eingegeben hast, zeigen sie nicht; wer einen Teil davon schon kennt, könnte ihn aber wiedererkennen.",
    listed: "Einige Angaben, die der Support braucht, sind lesbar.",
    values: "Die Datei enthält alles, was du in {app} eingegeben hast, lesbar.",
    store:
      "Die Datei enthält alle deine Daten in {app}, lesbar, mit Bildern und Anhängen, und auch Gelöschtes, das noch nicht überschrieben ist.",
    sealed: "Die Datei ist verschlüsselt. Nur der Support kann sie lesen.",
    open: "Die Datei ist nicht verschlüsselt. Wer sie bekommt, kann sie lesen.",
    choice: "Du entscheidest. Wenn du sie nicht sendest, ändert sich in der App nichts.",
    buttons: ("Senden", "Nicht senden"))

  static let french = ConsentWords(
    title: "Envoyer un fichier à l’assistance ?",
    why:
      "{App} peut envoyer un fichier qui aide l’assistance à comprendre pourquoi vos données n’ont pas pu être ouvertes.",
    structure:
      "Le fichier décrit comment vos données sont organisées : quels types d’éléments existent, combien, et ce qui ne va pas. Il ne contient pas ce que vous avez saisi.",
    tokens:
      "Le fichier décrit comment vos données sont organisées et contient un code à la place de tout ce que vous avez saisi. Les codes montrent quels éléments sont identiques, la longueur approximative des textes, la grandeur approximative des nombres et l’ordre des événements. Ils ne montrent pas ce que vous avez saisi, mais une personne qui en connaît déjà une partie pourrait la reconnaître.",
    listed: "Quelques détails dont l’assistance a besoin sont lisibles.",
    values: "Le fichier contient tout ce que vous avez saisi dans {app}, sous forme lisible.",
    store:
      "Le fichier contient toutes vos données dans {app}, sous forme lisible, avec les images et les pièces jointes, ainsi que des éléments supprimés qui n’ont pas encore été écrasés.",
    sealed: "Le fichier est chiffré. Seule l’assistance peut le lire.",
    open: "Le fichier n’est pas chiffré. Toute personne qui le reçoit peut le lire.",
    choice: "C’est à vous de décider. Si vous ne l’envoyez pas, rien ne change dans l’app.",
    buttons: ("Envoyer", "Ne pas envoyer"))

  static let spanish = ConsentWords(
    title: "¿Enviar un archivo al soporte?",
    why:
      "{App} puede enviar un archivo que ayuda al soporte a averiguar por qué no se pudieron abrir tus datos.",
    structure:
      "El archivo describe cómo están organizados tus datos: qué tipos de elementos hay, cuántos, y qué falla. No contiene lo que has introducido.",
    tokens:
      "El archivo describe cómo están organizados tus datos y contiene un código en lugar de todo lo que has introducido. Los códigos muestran qué elementos son iguales, la longitud aproximada de los textos, el tamaño aproximado de los números y en qué orden ocurrieron las cosas. No muestran lo que has introducido, pero quien ya conozca una parte podría reconocerla.",
    listed: "Algunos detalles que el soporte necesita se pueden leer.",
    values: "El archivo contiene todo lo que has introducido en {app}, de forma legible.",
    store:
      "El archivo contiene todos tus datos de {app}, de forma legible, con imágenes y archivos adjuntos, y también elementos eliminados que aún no se han sobrescrito.",
    sealed: "El archivo está cifrado. Solo el soporte puede leerlo.",
    open: "El archivo no está cifrado. Cualquiera que lo reciba puede leerlo.",
    choice: "Tú decides. Si no lo envías, nada cambia en la app.",
    buttons: ("Enviar", "No enviar"))

  static let norwegian = ConsentWords(
    title: "Vil du sende en fil til brukerstøtten?",
    why:
      "{App} kan sende en fil som hjelper brukerstøtten med å finne ut hvorfor dataene dine ikke kunne åpnes.",
    structure:
      "Filen beskriver hvordan dataene dine er bygd opp: hvilke typer oppføringer som finnes, hvor mange, og hva som er galt. Den inneholder ikke det du har skrevet inn.",
    tokens:
      "Filen beskriver hvordan dataene dine er bygd opp, og inneholder en kode i stedet for alt du har skrevet inn. Kodene viser hvilke oppføringer som er like, omtrent hvor lange tekster og hvor store tall er, og i hvilken rekkefølge ting skjedde. De viser ikke hva du har skrevet inn, men en som allerede kjenner en del av det, kan kjenne det igjen.",
    listed: "Noen få opplysninger som brukerstøtten trenger, kan leses.",
    values: "Filen inneholder alt du har skrevet inn i {app}, i lesbar form.",
    store:
      "Filen inneholder alle dataene dine i {app}, i lesbar form, med bilder og vedlegg, og også slettede ting som ennå ikke er overskrevet.",
    sealed: "Filen er kryptert. Bare brukerstøtten kan lese den.",
    open: "Filen er ikke kryptert. Alle som får den, kan lese den.",
    choice: "Du bestemmer. Hvis du ikke sender den, endres ingenting i appen.",
    buttons: ("Send", "Ikke send"))

  static let japanese = ConsentWords(
    title: "サポートにファイルを送信しますか？",
    why: "{App}は、データを開けなかった原因をサポートが調べるためのファイルを送信できます。",
    structure: "ファイルには、データの構成（項目の種類、数、問題の内容）が記載されています。入力した内容は含まれません。",
    tokens:
      "ファイルには、データの構成と、入力した内容の代わりの符号が含まれます。符号からは、どの項目が同じか、文字のおおよその長さ、数値のおおよその大きさ、出来事の順序がわかります。入力した内容そのものはわかりませんが、その一部をすでに知っている人は、それに気づく可能性があります。",
    listed: "サポートに必要な一部の情報は、読み取れる形で含まれます。",
    values: "ファイルには、{app}に入力したすべての内容が読み取れる形で含まれます。",
    store:
      "ファイルには、{app}のすべてのデータが、画像や添付ファイルとともに読み取れる形で含まれます。削除したもののうち、まだ上書きされていないものも含まれます。",
    sealed: "ファイルは暗号化されています。サポートだけが読み取れます。",
    open: "ファイルは暗号化されていません。受け取った人は誰でも読み取れます。",
    choice: "送信するかどうかは、ご自身で決められます。送信しなくても、アプリの動作は変わりません。",
    buttons: ("送信", "送信しない"), joint: "")

  static let simplifiedChinese = ConsentWords(
    title: "要将文件发送给支持人员吗？",
    why: "{App}可以发送一个文件，帮助支持人员查明您的数据为何无法打开。",
    structure: "该文件说明数据的结构：有哪些种类的条目、数量以及出现的问题。其中不包含您输入的内容。",
    tokens:
      "该文件说明数据的结构，并以代码代替您输入的所有内容。从代码可以看出哪些条目相同、文本的大致长度、数字的大致大小以及事件的先后顺序。代码不会显示您输入的内容，但已经知道其中一部分的人可能会认出它。",
    listed: "支持人员需要的少量信息是可读的。",
    values: "该文件以可读形式包含您在{app}中输入的所有内容。",
    store: "该文件以可读形式包含您在{app}中的所有数据，包括图片和附件，以及已删除但尚未被覆盖的内容。",
    sealed: "该文件已加密，只有支持人员可以读取。",
    open: "该文件未加密，任何得到它的人都可以读取。",
    choice: "由您决定。如果不发送，应用不会有任何变化。",
    buttons: ("发送", "不发送"), joint: "")
}
