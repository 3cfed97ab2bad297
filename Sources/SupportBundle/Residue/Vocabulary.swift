// Made by .ci/vocabulary.

extension PublicWords {
  /// The words of Lifeboat's own texts, in lower case.
  static let vocabulary = """
    a abcdef abcdefabcdeftztz abcdefghijklmnopqrstuvwxyz aber able abort about abre abril abrir abrirla abrirlos abrió \
    abs absolute abstract ac acceder accept accepted accepts acceso access according accounted accès accéder achange acl \
    act action activecell activepane activetab actualiza actualización actuelle add added addedcount addedkeys \
    addeventlistener addingclamped address adjuntos ae affected affectscontent affectsversionhash affinity after \
    afterimage again against age agg aggregate agosto agree agreeing agrees ahead aide aider ainsi aiza akia akkurat \
    aktualisieren al algo algunos align all allcut alle allerede alles allocation allocationtype allow allowed allows \
    allowsexternalbinarydatastorage allowsrepetition allsteps almacenamiento alone already alreadyaccepted als also alt \
    alter although always am among amount amp an analyser analysers analyses analyze ancestor ancestors anchor and \
    andere anderen anderer anderes andre anew angaben angeboten anhängen annen annet announced announces another \
    anscheinend ansck answer anteriores antes any anykey anyone anything anywhere anzeichen août aparece apart aparte \
    apos app appareil appear appeared appears appen append appens appex apple application applicationid applied applies \
    apply applyfont applynumberformat approximatesize approximative apps april aproximada aproximado arabic archive \
    archived archivedflags archiver archives archivo archivos are area aria armenian armored around array arrière arrow \
    arrowhead arten as asc ascending ascii asia aside ask asked assez assigned assigns assistance associations assumed \
    asynchronously así at atleast atmost atomic atomiccommit atransaction atransactionstring atskilt attach attached \
    attachments attempt attribute attributeadded attributemappings attributeremoved attributerenamed attributes \
    attributetype attribution au auch aucune auf aufbewahrt aufbewahrten aufgebaut auftritt august auparavant aus aussi \
    authentication author auto autofilter autogenerateexpression autoincrement autoindex automatic automatically \
    automaticindexes autovacuum autre av available avant avec average averiguar avez avg avoid avril await away axis \
    ayuda ayudar aún b back background backname backslash backup backwards bad badallowlist badanalyser badautovacuum \
    badbackup badcellcount badchain badcondition badcontentstart badcount baddata baddate baddigest baddirectory \
    badencoding badentries badentry badfractions badfragments badhash badheader badkey badlargestroot badlength \
    badmanifest badname badoption badorder badpagecount badpattern badpointer badrecord badroot badschemaformat \
    badsignature badsize badsql badtext badtrunk badtype badversion bakgrunnen bar bare barecount barinterval base \
    base64 basis batch batches batchsize bd be bearer became because become becomes bedeutet been beenden befinden \
    befindet before beforeimage began begin beginning begins beginswith begonnen begun behind being beiseitegelegt \
    bekommt belong belongs below beschreibt beschädigt beside besidenote beskriver beskytter besoin besteht bestemmer \
    between betyr bevart bevarte bevor beyond big bigint bilder bildern bin binary bind bis bisherigen bit bits bitte \
    blames blamesschema ble bli blieb blir blob block blocked blocks bloqueado bloqueados bm bo body bold bonne \
    bookviews bool boolean boolval border borderid borders both bottom bottomleft box boxes bplist bracket brauchen \
    braucht break breaks bring broken brokenchain brought bruk bruker brukerstøtten budget buffer bug build builds \
    builtin builtinid bundle bundled bundles but button by byentity bygd byposition bytable byte bytecount bytes \
    bytesperfile bytesperlaunch bytespernote bør c cache cached cachedmodel cachedmodelproblem cachekib calendar calibri \
    call called calls cambia cambios came can cancelled candidates cannot cannotcreate cannotopen cannotstart capacity \
    car care carecount carpeta carried carries carry cas cascade case caseinsensitive cases cast castobject \
    catalogdamaged cataloglocked catalogue catalogunread cause cc cdata cdbstore cdm ce cela cell cellcount celles cells \
    cellstyle cellstyles cellstylexfs cellxfs central certain certainty ces cet cette cf chain change changecount \
    changecounter changed changedcount changedduringread changedhashcount changedkeys changedwhilereading changes \
    changing char character characters charset check checked checkedpages checkfailed checkfails checking checkpoint \
    checkpointed checks checksum checksumholds checksummismatch checksums chi chiffré chiffrées child children chip \
    chips choice choose chose chosen chunk ci cid cierra cifrado cifrados cipher circle claimed claims class \
    classdiagram classes classlist classmapping classname clave clean click clob clock close closed closing cloudkit \
    cloudkitconfigurations clé cmn coalesce cocoa cocoacode code codegeneration codegenerationtype codes codingpath col \
    coll collapse collate collating collation collection colon color colour cols column columnfields columnmissing \
    columnnames columns columnsfolded columnsize com combien come comes command commands comme commencer comment \
    comments commit commitcount commits committed committedframecount committedframes committedframesbehindbreak common \
    como compact compare compared compares comparison compiled compiler complet complete completo complex component \
    composed composite composites compound compoundindex compoundindexes comprendre compress compressed compression \
    compressionfailed comprueba compruébala compute computed computedleftout computes computingseconds con concat \
    condition conditions conexión confidence confidencetext configuration configurations configurationsbyname confirm \
    confirmed confirms conflict conflictcount conflicts connaît connected connection connexion conozca conservados \
    conservaron conservées consistent const constant constants constaté constraint constraints contact contacter \
    contactez contacto contain container containerfailed contains contenant contener contenerlos contenido contenir \
    content contentchanged contentless contents contenttype contenu context contiene contient continuar continue \
    continuer continues continué contradict contradicted contradictedcount contradicts contraseña control conversions \
    converted copia copie copied copies copiesall copiesattributes copy copyinprogress copyopens copyunavailable core \
    coredata coredatafindings coredatashaped corespotlightdisplaynameexpression correcta corrected corrupt cosa cosas \
    could count counted counter counterpart countonly counts countsrows cours cover crc create created createelement \
    createrelationships creates cross crosses csv cualquiera cuando cuanto cume current currentcommit currentversion \
    currentversionname cursor curve custom customclassname customwidth cut cutcount cutshort cuántos cycle cyclic \
    cyclicinheritance cyrillic código códigos cómo côté d da dabei dahin damage damagecount damaged damagedmanifest \
    damagedsource damit danach danglinglink danglingreference dans darin dark das dash dasharray dashed dass data \
    database databasefiles databasepagecount dataene datamodel date datedrows datei daten dateoutofrange dates \
    datesource datetime datos davon day days dañado dañados db dblval dc dd de deadline debería december decided decides \
    decimal decision declaration declared declaredtype declares decoded decoder decompress decoration decrypt decrypted \
    decrypts deduced deep deeper deepest deepinheritance deeply default defaultdatetimeinterval defaultrowheight \
    defaultvalue defaultvalueasstring defaultvaluestring defect deferrable deferred definedname definednames defines \
    definition deflate defs deg deine dejó del delete deleted deletedcount deleterule deletes deletion deletionrule dem \
    demands den denied denn denne denotes dense deny depend depth depthlimit depuis der deretter derfor derivation \
    derivationexpression derivationfilter derivationfilterpredicate derived dernière dernières des desbloquea \
    desbloquear desc descending describe describes description descriptor desember deshalb después destination \
    destinationentity destinationentityname destinationentityversionhash destinationmodeldata destinationmodelpath \
    destinationname destinations det detach detail details detalles detectó determined dette dev devanagari developer \
    device devicelocked devraient devrait dezember diagonal diagram diciembre dict dictionaries dictionary did die diese \
    diesem diesen dieser diesmal differ difference differences different differing differs difficultés dificultades \
    digest digestholds digests digit digitcount digits digraph dim din dine dire direct directly directory disappeared \
    discard disco disk diskfull displaced display disponga disponible disponía disposait dispositivo disque disse dist \
    distance distinct disturbs div divide divided dl do docsize doctype document documentation documentversion does \
    domain don donc donde done données dont dort dossier dot dots dotted doub double doubt doubtful doubtfulnames down \
    drawn drive drop dropped drops dt dtd dtds du dumb duplicate duplicatename duplicateproperty duplicates durch during \
    dès décembre décider décrit déjà démarré déplacez détails déverrouiller déverrouillées e ea each earlier earliest \
    early eb ecff ed edf edge editor eef effect ein eine einem einen einer eines eingaben eingegeben einige einträge \
    einträgen either ekstern el element elementid elementos elements eliminados eliminarse elimines eliminó elle eller \
    elles else em embeddednul empezar empezó emplacement empty emptycount emptynames emptytoken en encodedstring encoder \
    encoding encodingsource encontró encore encrypt encrypted encryptedbackup encryption end ended endframe ending \
    endommagé endommagées endres endret endringene ends endswith enero enheten ennå enough enregistre enregistrées \
    ensuite ent entered enthält entities entitiesonly entity entityadded entitychanged entityclassname entitycolumn \
    entitycount entitylimit entitymappings entityname entitynames entitynumber entitypolicy entityremoved entityrenamed \
    entitytables entitytext entonces entries entry entrychanged entrycount entrylimit entrymissing entryname \
    entryunlisted entscheidest entschlüsselt entsperren enviar environment envoyer envoyez envías equal equals equiv er \
    erneut erreichbar errno error errorcancelled errorunknown ersetzt es escape escaped escapes eso esos espace espacio \
    espera essayer est esta estaba estaban estar este esto estos está están estén et etter etterpå etwas eu \
    evaluatedobject event eventcount events ever every everything evidence exact exactly examined example examplelimit \
    examples except exclude excluded exclusive exist existent existing exists expands expected expectedhashes \
    expectedversion expects expectsmodel expired explain explains exponent exported expression expressions \
    expressiontype extended extension external externalempty externalfilecount externalfilemissing externalfiles \
    externalmissing externalshared externalstorage externalstray externaltoolarge externalunread externalzeroed externe \
    externen externo extra extract extraction eyj f fa fact facts fail failed failedcount fails failure failures faire \
    fall falla fallback falls false falsepredicate falta falten families family far fate fault fb fchmod fchown \
    fdopendir febrero februar february fehlen fehlende fehlt fermer festgestellt fetch fetchbatchsize fetched \
    fetchedproperty fetchedpropertyfetchrequest fetches fetchindex fetchindexelement fetchlimit fetchoffset fetchrequest \
    fetchrequestforsourceentitynamed fetchrequestsarray few fewer ff ffa ffe fff ffffff fichier field fields fil file \
    filecount filedamaged fileempty fileencrypted fileformat fileid filen filenewer filenotadatabase files filesunread \
    filesystem fileunread fileunreadable fill fillcolor filled fillid fills filter filterdatabase filtering final find \
    finden finding findingcount findings finds fingerprint finish finished finishes finne finnes first \
    firsthistorynumber firstliveframe firstseen fit fits five fix fixed fixes flag flags flere flex flipped floa float \
    flow flush flytt focus fois fok folder folderexists foldername folders folderwith follow followed following follows \
    font fontcolor fontid fontname fonts fontsize for forbid forbids forcehelps fordi foreach foreign fork form forma \
    format formatcode formats forme fort fortsatt fortsatte fortsette fortzufahren found fr fra fractions fragmented \
    frame framecount framedamaged frames frameslost framework frameworkversion free freeblock freeblocks freebytes freed \
    freedbytes freelist freelistleaf freelisttrunk freepage freepagecount freepages frei frem frequent fresh freshcode \
    freshfailed freshfails frigjør from frozen früheren fstat fstatat fsync fts fue full fullest fullfsync fullstendig \
    function funnet futimens få får février før für g galt gangen ganger gap gathered gave gb geben gelassen gelesen \
    gelöscht gelöschtes general generated generates generation genug geopoly gerade gerät geräts geschah geschehen \
    gespeichert gesperrt get getattribute getrennt gets geöffnet gf gho ghp gib gibt gif github give given gives \
    givesvalues gjenopprette gjenopprettes gjøre gleich glob glossary glpat gnu go goes gone gonecount good grandeur \
    graph gray greatest greek green grew grid ground group grouped grouping grouplimit groups grow growthlimit groß \
    grunn gt guarda guardan guardaron guarden guardó guess guesses guide gz gzip går général h haber había hacer had \
    hadde halo halves han handle handled handledifdataallows hangul hans hant happened happens har harm has haschanges \
    haschecks hascompany hascompareddates hasentities hasescapes hasfacts hash hashed hasher hashes hashesagree \
    hashesversion hashing hasitems haskeys hasleft haslines hasmetadata hasoverlays haspayload haspointermap hasproblems \
    hasproperties hasrounded hasroundedsizes hasrows hassection hasshape hassteps hast hasta haswords hat hatte have \
    having havingpredicate hay haya haz head headbytes header headerchanged headerchanges headerdamaged headerlost \
    headermismatch headers heading headlost headmissing headmoved heads health healthy hebrew height held helfen heller \
    help helps helvetica hentet her herauszufinden here hex hexadecimal hf hh hidden hide hier high highest highestkey \
    highlight hilfe hilft hint hintergrund histogram history hjelp hjelpe hjelper hk hold holdbackground holdcopyopens \
    holdcopyunavailable holder holdextension holdfreshfails holdhostdecides holdingrows holdlocked holdnospace \
    holdnotafile holdrepeated holds holdshared holdsymboliclink holdunreadable holdunrecorded hollow home host \
    hostdecides hosterror hostname hostnewerstore hostotherversion hoststate hostwrongkey hot hotjournal hour hours how \
    howtocorrupt href html http https hva hvilke hvilken hvis hvor hvordan hvorfor hyphens i icloud id \
    idecoredatamodeler identified identifier identifiers identify identiques identity idrefs ids iem if ifnull igjen \
    ignore ignored iguales ihn ihnen ihr ihre ihrem ihren ihres iif ikke il ils im image images img immediate importing \
    impossible impossibleratio impossiblesize imágenes in inaccessibles inbackground inchangées incident incidentlimit \
    incidentname incidents include includependingchanges includepropertyvalues includes includesdeleted \
    includespendingchanges includespropertyvalues includessubentities includesubentities incompatible incomplet \
    incomplete incompletecount incompleteset incompleto inconsistent increase incremental index indexed indexentries \
    indexes indexnotbuilt indica indices indiquez inf infer inferred infinite infinity info ingenting inherit inherited \
    inherits initial initially inline inlined inlinestr inn inneholder inner inode input inputbytes inputcount \
    inputmissing inputoutput inputs insert inserted inserts inside inspect inspection inspectionname install installer \
    instant instead instr insuffisant int intact intactentrycount integer integer16 integer32 integer64 integrity intent \
    intentar intentarlo intentname interior interiorindex interiortable interrupted intersect interval into introducido \
    intval intvalue inuse invalid invalidtext invalidtextcount inverse inverseentity inverseentityname inversename \
    inverserelationship inwords inzwischen io ios iosversion iphone is isabstract isadded isallowed isanywhere \
    isascending isassumed isautoincrement isbyposition iscancelled iscandidate ischanged iscode iscolored iscomplete \
    iscopied iscoredata iscurrent iscut iscutshort isdemanded isdescending isdigit isdone isdotted isdoubtful isdrawn \
    isdryrun isdumb isempty isencrypted isend isequal isexact isextension isfilling isfiltered isfinished isfirstsegment \
    isflag isfree isgone isguess isheaderlost isheadersound ishex ishistory ishot isinbackground isincompatible isindex \
    isindexed isindexedbyspotlight isinteger isjoined isjournal iskept iskeyinferred isknown islog islossless \
    ismagicright ismainempty ismainthere ismanifest ismissing isnew isnewerthanapp isnot isnotnull isnull isnumber \
    isofarchive isofentities isofstore isold isolderthanlog ison isoptional isordered isordinary isover isown isplural \
    isprotecteddataavailable isreadonly isrefusal isrefused isremoved isreplaced isreturn issame issealpending \
    issizeapproximate issound isspotlightindexed isstart isstoredintruthfile isstrict issynchronous ist isterminal \
    istext istobereadagain istomany istransient isuncertain isunfinished isunique isunopenable isuntouched isup \
    isusedelsewhere isusedwithcloudkit isusedwithswiftdata isvalid isverified iswanted iswhole iswithoutrowid isword \
    iswrite iswritten iswrong it items its itself j ja januar january janvier jn job join joined joiner jointes jour \
    journal journalfile journalmode journalnow journalpagecount journals jpeg jpg json jsonb jsoninterval judge judged \
    judgement juillet juin juli julianday julio july june juni junio junto jusque just k kan kana kann kanskje kb keep \
    keepers keeps keepsdamagedlogs keepseverything keepsfailing kein keinen kennt kennung kept keptmainpath keptpages \
    keptsame key keycolumn keycolumns keycounter keyed keyedarchive keylesslimit keylimit keyorder keyparts keypath keys \
    keysnotchecked keytable khce kib killed kind kindname kinds kjenne kjenner kl know known knows kode kodene kommer \
    konnte konnten kontakt kontakte kontroller kontrollere kopi kopie kryptert kunne können könnte könnten l la label \
    labelledby lack lacks lag lagrer lagret lagringen lagringsområde lagt laissé lane lanes lang lange language \
    languageid lar large larger largest las lassen last lastinsertrowid lastprint lastsavedtoolsversion lastseen late \
    later latest latin latt laufwerk launches layout lc le lead leadbytes leads leaf leafindex leaftable lease leasename \
    least leave leaves ledig leer leeren leerlo leerlos left leftbehind leftout leftoutcount leftover legible lenge \
    lenger length les lesbar lese lesen leses less let lets letters leur level levels li libera libre libérer lie liegen \
    lies ließen lifeboat ligge ligger light lightweight like likely limit limited limits line lineage lines link \
    linkcache linked links lire lisible lisibles list listed listing lists listsproperties lite literal literals litt \
    little live liverowcount liverows lo load loads local localecompare localsheetid locator lock lockbyte locked \
    lockholder locking lockingv lockname locks log logbehindbreak logbytes logfile logmissing lognotused lognow logview \
    long longer longitud longueur longvalues longvarchar look looked looklimit looks looksencrypted lookslikeswiftdata \
    loosetrees lorsque los loses losing loss losses lost lostcount lostframes low lower lowercase lowest lr lstat lt \
    ltrim lu lugar lukk là lässt lås låses låst löschen m machine macos macosversion made madeof magic mai mail main \
    mainempty mainkind mainmissing mainpagecount mainpages mainpath mainsizebytes mais major make makers makes \
    makesfreshstore makeunknown malformed managed manager mange mangle mangler manifest manifestmissing manifestnotfirst \
    manquante manque manquent mantissa many map mapped mappen mapping mappingmismatch mappingnumber mappings \
    mappingtable mappingtypename march margin mark marked marker markerheight markerwidth marks markup mars marzo mask \
    masked master match matched matches matchesequalcontent matchinfo materialized max maxbytes maxcells maxchanges \
    maxcount maxdatetimeinterval maxdepth maxfacts maximum maximumageseconds maximumboxcount maximumbytes \
    maximumcopybytes maximumcount maximumdepth maximumlistedbytes maximumpartcount maximumquarantines maximumrowcount \
    maximumwaitseconds maxlines maxlisted maxpages maxproofs maxsamples maxsteps maxtries maxvaluebytes maxvaluestring \
    may maybefolder maybegone maydiffer mayo mb mean meaning means meantime meanwhile med media mediumint mehr mehrmals \
    meist member memberentity memberlimit members memory men mended menos mention mentions menudo merge message messages \
    met meta metadata metadataaltered metadatachanges metadatalost metadatamissing metadatatable metadataunreadable \
    method methods mettre mib middle mientras might migrate migrated migratesnothing migrating migration \
    migrationdestination migrationpolicyclassname min mincount mindatetimeinterval mine minimumfreebytes \
    minimumtoolsversion minisig minisign minmax minste minus minute minutes minvaluestring mirrored mirroring mise mises \
    mismatch misnamed misplaced miss missing missingcount missingdestination missinginverse missingmember \
    missingpagecount missingparent missingpolicy missingproperty missingtype missingversion mistaken misuse misused mit \
    mix mixed mkdir mkdirat mm mo mode model modelcache modelcacheunreadable modeldiffers modelforeign modelmismatch \
    modelnewer modelnewerrules models modelunrecorded modelversionidentifier modifications modificó modified \
    modifiednanoseconds modifier modifié module moins mom momd moment momentary momento moments momv month montrent more \
    morefacts moreproblems morethanfile most mostplaces mostwords mot move moved movefailed mover moves moving mua \
    muestran muevas mulig multiply must muy más märz möglich möglicherweise müssen n nach nada name named namelimit \
    namenottext names namesfile nametokens nan native natural nature nav nb nchar ndjson ne near nearest neben necesita \
    necesitarlos necesitas need needed needs needscare needsroomformigration negative neighbouring neighbours neither \
    nennen nest nested nettverksmappe network netzwerkordner neu neue neuen neueren neueste neuesten never nevertheless \
    new newcount newentity newer newerapp newerrules newerstore newerversion newest newestmissing newhasrowids newleaves \
    newnames newrowcount newvalue next nextreport nextstep ni nicht nichts nil ninguna nn nno no noaccess noaction nob \
    nocase nocatalog noch node noe noen noexample noframes nok nokeyfits nolimit nombres non nonce none nor norecord \
    normal noroom noroot norowid nosourcemodel nospace nosql nostore nostoreinbundle nostores nosuchentity \
    nosuchincident nosuchproperty not nota notable notabundle notacatalog notadatabase notafile notamapping notamodel \
    notanarchive notapropertylist notastore notatet notauthentic notazip notchecked notcompared note noted notencrypted \
    notentered notes noteworthy notfree nothandled nothing nothingkept nothingtodo notice notindexed notinferable \
    notintact notiz notnoted notnull notregular notunique noun nouveau nouvelles november novembre noviembre now noway \
    nowhere nowrap npm ns nsaggregateexpression nsallocationtype nsanykeyexpression nsarguments nsarray nsascending \
    nsattributedescription nsattributemappings nsattributetype nsattributevalueclassname nsautovacuumlevel nsbatchsize \
    nsbetweenpredicateoperator nsclassnameforentity nscocoaerrordomain nscollatefinderlike nscollatelocalesensitive \
    nscollatenocase nscollection nscomparisonpredicate nscomparisonpredicateoperator nscompositeattributedescription \
    nscompositeelements nscompoundindexes nscompoundpredicate nscompoundpredicatetype nsconfigurations nsconstantvalue \
    nsconstantvalueclassname nsconstantvalueexpression nscoredatalike nscoredatastringsearch nscountonlyflag \
    nscustompredicateoperator nsdata nsdate nsdecimalnumber nsdecimalnumberplaceholder nsdefaultvalue nsdeleterule \
    nsderivationexpression nsderivedattributedescription nsdestinationentity nsdestinationentityname \
    nsdestinationentityversionhash nsdestinationpropertyname nsdetailederrors nsdictionary nsentities nsentity \
    nsentitydescription nsentitymapping nsentitymappings nsentitymappingsbyname nsentitymigrationpolicyclassname \
    nsentityname nsequalitypredicateoperator nsexpression nsexpressiontype nsfalseexpression nsfalsepredicate \
    nsfetchedpropertydescription nsfetchindexdescription nsfetchindexdescriptions nsfetchindexelementdescription \
    nsfetchindexelementtype nsfetchlimit nsfetchoffset nsfetchrequest nsfetchrequestentityname nsfetchrequestexpression \
    nsfetchrequestflags nsfetchrequesttemplates nsfilteringpredicate nsflags nsflagskey nsfrexpression \
    nsfunctionexpression nshasfetchrequestflags nshavingpredicate nsindexedbyspotlight nsindexelements nsindexname \
    nsinpredicateoperator nsinverserelationship nsinverserelationshipname nsisabstract nsisindexed nsisoptional \
    nsisordered nsisreadonly nsistransient nskey nskeyedarchiver nskeypath nskeypathexpression \
    nskeypathspecifierexpression nsknownkeysdictionary nsknownkeysmappingstrategy nsleftexpression \
    nslikepredicateoperator nsmanagedobject nsmanagedobjectmodel nsmappingmodel nsmappingname nsmappingtype \
    nsmatchingpredicateoperator nsmaxcount nsmincount nsmocexpression nsmodifier nsmultipleunderlyingerrorskey \
    nsmutablearray nsmutabledata nsmutabledictionary nsmutableorderedset nsmutableset nsmutablestring nsnegate nsnull \
    nsnumber nsobject nsoperand nsoperatortype nsoptions nsorderedset nspartialindexpredicate \
    nspersistenceframeworkversion nspersistencemaximumframeworkversion nspersistenthistorytombstoneattributes \
    nspersistentstorerequest nsposition nsposixerrordomain nspredicate nspredicateoperator nspredicateutilities \
    nsproperties nspropertydescription nspropertydescriptionproxy nspropertymapping nspropertyname nspropertytransforms \
    nsrelationshipdescription nsrelationshipkeypathsforprefetching nsrelationshipmappings nsrenamingidentifier \
    nsresulttype nsreversenullorder nsrightexpression nsselector nsselectorname nsselfexpression nsset nssetexpression \
    nssortdescriptor nssortdescriptors nssourceentityname nssourceentityversionhash nssourceexpression \
    nssqliteerrordomain nsstoremodel nsstoremodelversionchecksumkey nsstoremodelversionhashes \
    nsstoremodelversionhashesdigest nsstoremodelversionhashesversion nsstoremodelversionidentifiers nsstoretype nsstring \
    nssubentities nssubpredicates nssubqueryexpression nssubstringpredicateoperator nssuperentity nsternaryexpression \
    nstrueexpression nstruepredicate nsunderlyingproperty nsuniquetuples nsurl nsuserinfo nsuuid nsvalidationpredicates \
    nsvalidationwarnings nsvalue nsvalueexpression nsvaluestofetch nsvaluestogroupby nsvaluetransformername nsvariable \
    nsvariableexpression nsvariant nsversionhashmodifier nsversionidentifiers nth ntile nuevos nul null nullif nullify \
    nulls number numbered numberednames numbers numbersofstore numeric numfmt numfmtid numfmts nums nur nvarchar nye \
    nyere nyeste nytt nå når nås nøkkelen números o ob object objectfrom objectid objectids objects obstacle obstacles \
    occupent occurs octet october octobre octubre ocurrido ocurrieron ocurrir ocurrió oder of off offered officedocument \
    offset offsets oft ofte often og også oid ok oktober ol old oldcount oldentity older olderthanmain oldest \
    oldhasrowids oldleaves oldname oldnames oldrowcount oldvalue om omitted omo omtrent on once one ones only onlycopy \
    onlyinmodel onlyinstore ont onto opacity opaque open openat opened openerrno opening openinmemory opens \
    openwithfittingbuild openxmlformats operation operator operators opp oppdaget oppdater oppdatering oppføringer oppgi \
    opplysninger opt optimised optimisedformat option optional options or orden order orderchanged ordercolumn ordered \
    ordinary ordner ordre org organised organisées organizados orient origin original orphan ort os other otherapp \
    othercount otherencoding otherendings othergeneration otherincident otherkeys otherpagecount otherpagesize \
    otherreservedbytes otherroot otherrows others othertable otherversion otherwise otra otro ou ours out outcome \
    outcomename outer outermost outline outofrange output outputclosed outputexists outside ouvert ouvertes ouvrez \
    ouvrir over overflow overflowpage overflowpages overfull overfullcount overlap overlapbytes overlaps overlays \
    overlimit override overskrevet overwrite overwritten own owner owners ownership ownsstore owntexts où p pack package \
    packed packing padding page pagecount pageoffsets pageone pageoutofrange pages pagesize pagesizebytes pagesizesource \
    pagesmissing paint pair pairs pane par para parallel parameter parameters parece parecen parent parententity \
    parenthesis parentname parmi parser part parte partial partialindexpredicate partialpredicate partialrowcount partie \
    partition partlycountedtables partname parts partsuffix pas pasajero pass passager passe passedover passes passing \
    passord passphrase password passwort passé past pastend pat patch path paths patienter patternfill patterntype pattk \
    pause pax payload payloadbytes payloadlength payloads pb pending people percent perhaps permet permettra permission \
    permissiondenied permissions permite permitted pero persiste persistent personal personne peu peut phone pi picture \
    pictures piece piecebytes pipe pixels pièces pk place placedmain placemembers places placesmainlast plain \
    plaininterval plainkeypath plaintables plaintext plan plano plass platz please plist plus plusieurs pm png poco \
    podría podrían point pointer pointermap pointers pointersend points policies policy policyclass policyvalues ponte \
    por porque porter posible position positions posix posixcode possible pour pourquoi pourra pourraient pourrait power \
    ppsk pragma preceding precision predicate predicates predicatestring prefers prefetchedkeypaths prefix prepared \
    present presentcount presentstore preserve preserveafterdeletion preserved preservedondeletion pretty prevents \
    previous primary primarykey primaryresultcode print printf private prk probably problem problema problemer \
    problemerrno problemet problems problème process processes produit program programa programm programme progress \
    proofsleft properties propertiestofetch propertiestogroupby property propertylist propertyname proposée protect \
    protection protects protege protocol protège provenance proviennent pruned précédentes prøv prøve prøver prüfen psk \
    ptrmap pu public pudieron pudo pueda puedan puedas puede pueden puis puissiez put putback puts px på q qpzry qu \
    quantity quarantine quarantinenospace quarantines quarantineunfinished quarter que queda quelque quelques quels \
    queries query queryselectorall question queue qui quick quickly quien quiet quot quotation quote quoted quoteprefix \
    quotes quoting qué r radius raise raison ran random randomblob range ranges rangetexts rank rankdir ranks rar rarer \
    rate raw rawvalue reached reaches read readable readdir reader readfailed reading readlink readonly reads \
    readversion real reason reasons rebuild rebuilt reciba reciente recientes recipient recipients recognisable \
    recognise recognised reconnaître reconocerla record recordbytes recorded recordedhashes recordlength recordname \
    recordnames recordonly records recordsbynumber recordsbytable recordshealthyopens recordunread recover recoverable \
    recovered recovering recovery rect recuperado recuperar recuperaron recursion recursive red redaction redémarrer \
    redémarrez ref referansen reference referencedtwice references referencia refers reflexive refuse refused \
    refusedheader refuses refx refy regel regexp regular regularexpressionstring reihenfolge reindex reinicia rejected \
    rejectedcount rejects rekkefølge related relationship relationshipmappings relationshipremoved relationships \
    relative relativepath release releasing reliable rels rem remainders remark remarks remises removal remove \
    removeattribute removed removedcount removedkeys removing rename renamed renaming renamingidentifier renumbered \
    renumberedcount repair repaired repeat repeated repeatedcount repeats repetition replace replaceall replaced report \
    reported reportname reportonly reports reportsha256 representedclassname reproduit request requested requires resend \
    reserved reservedbytes reservedtype reserves reset residue resolved rest restart reste resten resto restoration \
    restore restored restorereplaced restrict result resultcode resulttype resumed retention retour retry retrypauses \
    return returndistinctresults returned returning returnobjectsasfaults returnsdistinctresults returnsobjectsasfaults \
    reverse reversesnullorder reçoit richtige richtigen rid rien right rightmost riktige rk rmdir rogue role roll \
    rollback rolled room roomycount root rooted rootpackage rootpage roottables rotate roughly round rounded rouvrez \
    rouvrir row rowcount rowcountofentities rowid rowidcolumn rowidfield rowidlost rowidlostcount rows rowslost rowsname \
    rtree rtrim rule rules run runs rx récente récupérer réessayer référence réseau s saisi saisies salt salts salvage \
    same sameas samecontentcount samevaluescount samme sample sampleinterval samples sandbox sans sauvegardez savecount \
    saved savepoint saves saving savner say says scalar scalars scale scan scanned schaden schedule schema schemachanges \
    schemaformat schemamigrationplan schemaname schemas schemaunreadable scheme schlüssel schon schwierigkeiten schützt \
    scope script scrypt se seal sealbroken sealbytesperlaunch sealed sealing sealingname sealmissing sealpace \
    sealprogress search searched searchmapping second seconds secondssince secret secrets section sections sector \
    sectorsize security see seeking seems seen sees seg segdir segments segundo seguridad sein seinen select selection \
    selector selects self selv semble semblent send sende senden sender sendest senere sent sentence sentences separados \
    separate separately separating separator september septembre septiembre seq seqno sequence ser sera serial serif \
    seront set setaside setasidefailed setattribute sets setsasidefailedmigrations setsasidemappingfaults \
    setsasidenewerstores setsasideonmismatchalone setsasiderepairable setting settings seule sevenzip several \
    severalstores severity sg sha sha256 shape share shared sharedmemory shares sharesentities sheet sheetdata \
    sheetformatpr sheetid sheets sheetview sheetviews shift shifted shiftrange shifts shipped shm short shorter should \
    show showdelay shown shownsteps shows si sibling sich sicher sichern side siden sides sie sign signature signed \
    significa siguen siguió sikkerhetskopiere silent silentlosssentence silently sin since sind sink sistema situation \
    six size sizebytes sizemismatch sizes sizetexts sizing sk skadet sketch skip skipped skips skjedd skjedde skjer \
    skrevet skrive skulle slett slettede slettet slik slike slot small smallbytes smallint snapshot snippet so sobald \
    sobrescrito socket solange solcher solid sollten solo som some someone something son sont soporte sort sortable \
    sortdescriptors sorted sortedcount sorting sound source sourcecolumn sourcecontext sourceentityname \
    sourceentityversionhash sourceexpression sourceexpressiondata sourceinstances sourcekeypath sourcelanguage \
    sourcemappingname sourcemodeldata sourcemodelpath sourcename sources sourcesha256 sous souvent space span sparse \
    special speicher speicherplatz speichert spite split spotlight spotlightindexingenabled spotlightname spreadsheetml \
    sql sqlcipher sqlite sqlitecode sqlitedb sqliteversion sqliteversiontext sqref square src ss stack stacked stage \
    staged stages stale stalecount staleframecount staleindex stammen standalone standard standardflags \
    standardvalueclassname stands stanza start starte started starten startet starting starts stat state statecount \
    statedpagecount statement statements statenotheld states status statuses statvfs stay stayed stays stedet stellen \
    stem stems step steps steptemplate still stimmt stockage stopped stops storage storageclass storagefault store \
    storebytes stored storedata storedcount storedintruthfile storedorder storeendings storefolder storefoldername \
    storeinuse storemainempty storemainmissing storemissing storename storenotafile storepath stores storeunreadable \
    storeurl storeuuid storewaldamaged storewalforeign strangefiles strangers straycount strays stream strftime strict \
    string stringconstant strings stringvalue strip stripped stroke strong stronger structure stuck style styles \
    stylesheet su subentity subfolder subfolders subject subquery substr substring subtract such suffit suffix \
    suficiente sum summary super supernumber superseded support supported supportfile supports supprimez supprimé \
    supprimées supprimés sur sure surveys svg swift swiftdata symbol symbolic symboliclink symlink sync syncable synced \
    synchronous syntax system systemerror systemet systems systemversion système sz så séparées t tabindex table \
    tableassumed tablechange tableguess tablemissing tablenotmade tablerenamed tables tablesimplified tablesnotcompared \
    tabular tag tail take taken takes takesleft takesright taking tal tall tamaño también tampoco tant tar target tb tbl \
    tbodies tbody td te technical technique technischen tegn teil teknisk tekster tel telephone tell telles temp \
    template templates temporary ten tens term terminal terms ternary test tests testsvalue text textcontent texte \
    textencoding textes texthex textname textos texts th thai than that the thead their theirs them themselves then \
    there these they thing things this those thread threads through tidligere tiene tienes ties til tilbake tilbud \
    tilgang tilgjengelig tilkoblet time timeline timeout times timesketch timestamp timestampdescription timezone ting \
    tinyint tip tipos title to todavía todo todos together token tokenbytes tokenize tokens told tolowercase tomany \
    tombstones tomme tone too toobig toocomplex toodeep took tool toolarge toolong tools toolversion toomanyfields \
    toomuchwork toone tooshort top topleftcell topower total totype touched toujours tout toute toutes tr trailer \
    trailing trailingbytes trait traits transaction transactionauthorindex transactionopen transactions \
    transactionstring transactiontimestampindex transform transformable transformer transient translate treated treats \
    tree trees trend trenge trenger triage triagegroups trial trials triangle tried tries triestwice trigger \
    triggernotbuilt triggers trigram trim trop trouble trouve trouvent trouver trouvé true truepredicate truncate \
    truncated trunk trust trusted try ts tu tun turned tus tuvo tvdw tw twice two txt type typename typeof typer types \
    tz técnico tú u uendret ufullstendig uhr ui uid ul um un una unattributed unattributedcount unavailable unbounded \
    uncertain unchanged unchangedcount uncommitted uncommittedframecount und undated undatedcount undecided undecodable \
    undecodablecount undefined under underline underlying understood undid undone une unevendepth unexpected unfinished \
    unfit unfitname ungefähr unhex unicode unindexed union unique uniqueness uniquenessconstraint uniquenessconstraints \
    unit units unixepoch unjudgedstatements unknown unknowncount unknownentity unknownentityrowcount unknownname \
    unknownstate unknownversion unless unlikely unlink unlisted unlock unlocked unmovable unnamed unnoted unpack \
    unpacked unparsed unreachable unread unreadable unreadableincident unreadablepagecount unreadfiles unreadtable \
    unreadvalue unrecorded unsafe unsafexml unsealed unsettled unsigned unspecified unsupported unsupportedexpression \
    until untrusted unusabledefinitions unused unusual unverified unverändert unvollständig unwritable up update updated \
    updates updating upper uppercase uppercased uri uris url ursache us usaban usable usablesize usage usando usas use \
    used usedwithcloudkit usedwithswiftdata user userdefinedmodelversionidentifier userinfo userinfodata userinfoentry \
    userversion uses usesscalarvaluetype using uso ustar usually usualwaitseconds ut utc utf utf16 utf16bigendian \
    utf16littleendian utf8 utilisation utilise utilisez utilisées uuid uuidbytes v va vacuum vacíos val valid validation \
    value valueclass valueexpressiondata valueforkey valueforkeypath values valuetransformer valuetransformername var \
    varbinary varchar variable variant varias varying veces ved vedlegg vedvarer vent verb verbindung verdict verfügbar \
    verified verifiedcount verifies verify verrouillé verrouillées verschieben verschlüsselt version versionbefore \
    versionchecksums versionfrom versionhash versionhashes versionhashmodifier versionidentifiers versioninfo versions \
    versionvalidfor versión versjon versjonen versuchen vertical verwenden verwendet verwendeten verändert veuillez veut \
    vez vides viele view viewbox viewnotbuilt viewport vil violate virtual virtualtable viser visible vnd vollständig \
    volume volumes volver volvieron von vorgefunden vorher vorliegt vorübergehend vos votedlayout votre vous vuelta \
    vuelve vuelven være vérifier vérifiez w wait waiting waituntilwritable wal waldamaged walforeign walformat walked \
    walreset walresetbug want wanted wantsmore wantsrows war waren warning warten warum was wasempty watch way ways \
    wegen weight weil weiter weiterarbeiten weiterhin weitermachen weiterverwendet welche welcher well wenden wenig wenn \
    went wer werden were what whatever whathappened whattodo whatwaskept when where whether which whichversion while \
    white who whole whose why widest width widths wie wieder wiedererkennen wiederherstellen will window windowbits \
    windowbytes windowcount wird with withheld within withindex withinlimits without withoutindex withoutrowid witness \
    witnesses wo word words work workbook workbookview workbookviewid workerended works worksheet worksheets would wrap \
    writable write writeaheadlog writefailed writer writes writeversion writing written writtenby writtencount \
    writtenpagecount wrong wrongkey wrongkind wrongtype wrote ws wurde wurden www x xccurrentversion \
    xccurrentversionname xcdatamodel xcdatamodeld xcmapping xcmappingmodel xcode xd xdbucketforclassesstorage \
    xdbucketforgeneralizationsstorage xdbucketforownedattributesstorage xdbucketforpackagesstorage \
    xdbucketforstereotypesstorage xddevattributemapping xddeventitymapping xddevmappingmodel xddevrelationshipmapping \
    xdpmattribute xdpmcompoundindexes xdpmentity xdpmfetchedproperty xdpmfetchrequest xdpmmodel xdpmrelationship \
    xdpmuniquenessconstraints xf xfid xinfo xl xlnm xlsx xml xmlns xoxb xoxp xz y ya year years yellow yes yet you your \
    ysplit yyyy z zahlen zauthor zauthorts zbundleid zbundleidts zchangetype zcolumns zcontextname zcontextnamets zeigen \
    zentity zentitypk zero zeroblob zeroedcount zeros zerosector zh zho zip zlib zname zone zprocessid zprocessidts \
    zquerygen ztimestamp ztombstone ztransactionid zu zugriff zumindest zurückgeholt zurückgelegt zuzugreifen à ändert \
    änderungen å åpne åpnes åpnet écrasés éléments établie étaient était état été événements être öffnen última \
    überschrieben übrigen ある場合は からアクセスできません がデータを保存する場所に がデータを開いたとき が記載されています このデータにパスワードを使用している場合は このバージョンでは読み取れません \
    このメモと同じ場所にある これは一時的なものです これは破損を示すものではありません ご自身で決められます しばらく待ってから すべてそのままの状態になっています そのままの状態で残っています \
    そのデータは別のアプリがまだ必要としている可能性があるため その一部をすでに知っている人は その後 それでも解決しない場合は それに気づく可能性があります それまでのデータの中に必要なものがある場合は それまで使用していたデータは \
    ただいま ではまだ開くことができません では正しいキーを使用できませんでした でデータを開くことができなかったため でデータを開くことができません でデータを開くことができませんでした で読み取ることができませんでした \
    で開くことができませんでした どの項目が同じか に に入力したすべての内容が読み取れる形で含まれます のすべてのデータが は は新しい空のデータで開始しました ほかのプログラム ほかの操作をする前に \
    またはアプリの別の部分が現在データを使用しているため また同じことが起きる場合は まだ上書きされていないものも含まれます もう一度お試しください もう一度開いてください をもう一度開いてください をアップデートしてください \
    を引き続き使用できる場合でも を閉じて を開いてください アップデートが見つからない場合は アプリ アプリのアップデートがあるかどうかを確認してください アプリのアップデートがあるか確認してください \
    アプリのサポートにお問い合わせいただけます アプリのサポートに連絡し アプリのサポートに連絡してください アプリの保存領域にそのままの状態で残っています アプリの保存領域に別に分けて アプリの保存領域に残っています \
    アプリの動作は変わりません アプリは削除しないでください アプリをアップデートすると アプリを削除すると アプリを削除するとデータも削除されることがあるため アプリを最新のバージョンにアップデートして \
    アプリを最新のバージョンにアップデートしてください サポートが必要な場合は サポートだけが読み取れます サポートにファイルを送信しますか サポートに必要な一部の情報は ストレージを読み取れませんでした \
    デバイスがロックされている間はデータが保護されるため デバイスのシステムのアップデートも確認してください デバイスのストレージの読み書きで問題が起きました デバイスのロックを解除してから デバイスをバックアップし デバイスを再起動し \
    デバイスを再起動してから デバイスを再起動してください データがあるはずのファイルの内容を データがあるはずのファイルの内容をアプリで読み取れなかったため データがより新しいバージョンで保存されているため \
    データがより新しいバージョンのアプリで保存されていたため データが別のバージョンのアプリで保存されていたため データが別のバージョンのアプリで保存されているため データが外部ドライブやネットワーク上のフォルダにある場合は \
    データが破損したという意味ではありません データにアクセスできません データのロックを解除できませんでした データの保存場所に データの少なくとも一部は復元できる場合が多くあります データの構成 データの構成と \
    データはまだロックされています データは以前のままです データは使用中です データは元に戻りました データは元の場所にそのまま残っています データは別のバージョンで保存されています データは暗号化されているとみられ \
    データは暗号化されているとみられますが データを保存しているファイルが破損しているか データを保存しているファイルが破損しているため データを元の場所に戻しました データを再び開ける見込みです データを別の場所に移しました \
    データを開くことができませんでした データを開けなかった原因をサポートが調べるためのファイルを送信できます バックグラウンドではデータを開くことができませんでした パスワードを確認して ファイルには ファイルは暗号化されています \
    ファイルは暗号化されていません フォルダに入っています 一切均保持原样 一部が欠けているようです 不发送 不足しているものがないか確認してください 中的所有数据 中输入的所有内容 为了让您能继续使用 之后也许可以重新打开您之前的数据 \
    也无法以全新的空白数据启动 也许可以重新打开您之前的数据 今回はすべてをそのままにしました 今回もデータを開くことができませんでした 从代码可以看出哪些条目相同 代码不会显示您输入的内容 以前のデータが元に戻りました 以前のデータは \
    以前のデータは保管されていますが 以前のデータを元に戻しました 以前のデータを再び開けるようになる可能性があります 以及已删除但尚未被覆盖的内容 以继续 任何得到它的人都可以读取 但已经知道其中一部分的人可能会认出它 但未能打开 \
    何が起きたかについては 保持原样 保持原样并单独存放 保留在应用的存储空间中 保留的数据位于以下文件夹 保留的数据位于此说明旁边的 保管されているデータは 保管されているデータは次のフォルダにあります \
    保管されているデータも削除されることがあるため 入力した内容そのものはわかりませんが 入力した内容の代わりの符号が含まれます 入力した内容は含まれません 其中不包含您输入的内容 其他程序或应用的其他部分正在使用您的数据 \
    出来事の順序がわかります 刚才未能打开您的数据 別のアプリのものと思われるデータがあります 別のアプリのデータがあります 別の場所に移しました 削除されたものはありません 削除したもののうち 削除や移動はしないでください \
    包含您最近更改的文件已不完整 包含您最近更改的文件已按发现时的原样复制一份 包括图片和附件 十分な空き容量があることを確認してから 发现包含您最近更改的文件已损坏 发送 受け取った人は誰でも読み取れます 只有支持人员可以读取 \
    可以发送一个文件 可用空间不足 同じことが何度か起きているため 否则保留的数据也可能会被删除 否则您的数据也可能会被删除 問題が続く場合は 問題の内容 因为其他应用可能仍需要它们 因为存放数据的文件已损坏 \
    因为应用无法读取本应存放数据的文件中的内容 因为这些数据是由应用的其他版本保存的 因为这些数据是由应用的较新版本保存的 因此 因此已将您的数据放回原处 在尝试其他操作之前 在此之前使用的数据仍在应用的存储空间中 \
    在此之前使用的数据已移到别处保存 変更または削除されたものはありません 失われた部分は 如有缺失 如果不发送 如果仍未解决 如果再次出现此问题 如果您为这些数据设置了密码 如果您可以继续使用 如果您的数据存放在外置硬盘或网络文件夹中 \
    如果您需要其中的内容 如果没有可用的更新 如果问题仍然存在 如需帮助 存放您的数据的位置似乎存放着其他应用的数据 存放您的数据的文件似乎已损坏或不完整 已继续使用其余数据 帮助支持人员查明您的数据为何无法打开 年 并与新数据分开存放 \
    并以代码代替您输入的所有内容 并将其移到别处保存 并提供以下编号 并检查应用是否有更新 并继续使用其余数据 并联系应用的支持团队 应用 应用不会有任何变化 应用的支持团队可以协助查明原因 应该可以重新打开这些数据 \
    引き続きお使いいただけるように 当前版本无法读取 復元できる場合が多くあります 必要な操作はありません 您之前的数据仍在应用的存储空间中 您之前的数据已保留 您之前的数据已恢复 您无需进行任何操作 您最近的更改可能有缺失 \
    您的数据与之前一样 您的数据仍在原处 您的数据仍处于锁定状态 您的数据仍然无法打开 您的数据似乎已加密 您的数据是由较新版本保存的 您的数据正在使用中 您的数据由其他版本保存 您的设备在读写存储时遇到了问题 打开您的数据时 \
    技術的な問題のため 接続を確認してください 支持人员需要的少量信息是可读的 数 数値のおおよその大きさ 数字的大致大小以及事件的先后顺序 数量以及出现的问题 文件夹中 文字のおおよその長さ 文本的大致长度 新しいデータとは別に \
    新しい内容は保存されないことがあります 新しい空のデータで始めることもできなかったため 新输入的内容可能不会被保存 无法打开您的数据 无法访问存放您的数据的位置 无法访问您的数据 无法读取存储设备 \
    无法读取本应存放您的数据的文件中的内容 日 暂时无法打开这些数据 更新应用后 最新の変更が入ったファイルが完全な状態ではありませんでした 最新の変更が入ったファイルが破損していることがわかりました \
    最新の変更が入ったファイルのコピーが 最新の変更が失われている可能性があります 月 有了正确的密钥后 有哪些种类的条目 未能在后台打开您的数据 未能打开您的数据 未能打开这些数据 未能解锁您的数据 次の参照番号をお伝えください \
    正しいキーが使用できるようになれば 正しいキーを使用できませんでした 此后 此处存放着其他应用的数据 残りのデータで動作を続けています 没有删除任何内容 没有变化 没有更改或删除任何内容 没有正确的密钥 然后重新打开 然后重试 \
    現在は以前のデータを再び使用しています 由于可用空间太少 由于同样的情况已多次发生 由于技术问题 由您决定 画像や添付ファイルとともに読み取れる形で含まれます 目前使用的是您之前的数据 空き容量が少ないため 空き容量が足りません \
    空き容量を増やしてから 符号からは 続けるには 缺失的部分通常可以恢复 而 而当时没有正确的密钥 要将文件发送给支持人员吗 見つかった時点のままの状態で 読み取れる形で含まれます 设备锁定时会保护您的数据 该文件以可读形式包含您在 \
    该文件已加密 该文件未加密 该文件说明数据的结构 请不要删除应用 请不要删除或移动这些数据 请先联系应用的支持团队 请关闭 请同时查看设备的系统更新 请备份设备 请将应用更新到最新版本 请打开 请更新 请查看应用是否有可用的更新 \
    请检查密码后重试 请检查是否有内容缺失 请检查连接 请确保有足够的可用空间 请稍等片刻 请联系应用的支持团队 请解锁设备 请释放一些空间 请重新启动设备 请重试 这些数据似乎已加密 这些数据已恢复 这并不表示您的数据已损坏 \
    这并不表示数据已损坏 这次一切都保持原样 这类数据通常至少可以恢复一部分 这通常是暂时的 送信 送信しない 送信しなくても 送信するかどうかは 通常 開くことができませんでした 随后以全新的空白数据启动 項目の種類
    """
}
