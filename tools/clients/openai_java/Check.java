import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.JsonValue;
import com.openai.core.MultipartField;
import com.openai.errors.NotFoundException;
import com.openai.models.ComparisonFilter;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.conversations.ConversationCreateParams;
import com.openai.models.conversations.ConversationUpdateParams;
import com.openai.models.conversations.items.ItemCreateParams;
import com.openai.models.conversations.items.ItemDeleteParams;
import com.openai.models.conversations.items.ItemRetrieveParams;
import com.openai.models.embeddings.EmbeddingCreateParams;
import com.openai.models.files.FileCreateParams;
import com.openai.models.files.FileListParams;
import com.openai.models.files.FilePurpose;
import com.openai.models.responses.EasyInputMessage;
import com.openai.models.responses.FileSearchTool;
import com.openai.models.responses.Response;
import com.openai.models.responses.ResponseCreateParams;
import com.openai.models.responses.ResponseIncludable;
import com.openai.models.responses.ResponseRetrieveParams;
import com.openai.models.responses.ResponseStatus;
import com.openai.models.responses.ResponseStreamEvent;
import com.openai.models.uploads.Upload;
import com.openai.models.uploads.UploadCompleteParams;
import com.openai.models.uploads.UploadCreateParams;
import com.openai.models.uploads.parts.PartCreateParams;
import com.openai.models.vectorstores.VectorStoreCreateParams;
import com.openai.models.vectorstores.VectorStoreSearchParams;
import com.openai.models.vectorstores.VectorStoreUpdateParams;
import com.openai.models.vectorstores.filebatches.FileBatchCancelParams;
import com.openai.models.vectorstores.filebatches.FileBatchCreateParams;
import com.openai.models.vectorstores.filebatches.FileBatchListFilesParams;
import com.openai.models.vectorstores.filebatches.FileBatchRetrieveParams;
import com.openai.models.vectorstores.filebatches.VectorStoreFileBatch;
import com.openai.models.vectorstores.files.FileContentParams;
import com.openai.models.vectorstores.files.FileDeleteParams;
import com.openai.models.vectorstores.files.FileRetrieveParams;
import com.openai.models.vectorstores.files.FileUpdateParams;
import com.openai.models.vectorstores.files.VectorStoreFile;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;

/** Tests files, uploads, vector stores, responses, conversations, embeddings and models with the official OpenAI client for Java. */
public final class Check {
  private static final String QUESTION = "How long is the warranty of the Aurora pump?";
  private static final String AGENT = System.getenv("CHECK_AGENT");
  private static final Map<String, String> TEXTS =
      Map.of(
          "heron.txt", "The heron bridge was opened in March. It carries trams and bicycles.",
          "otter.txt", "The otter lock was rebuilt after the flood. Boats of twelve metres may pass.");
  private static final OpenAIClient client =
      OpenAIOkHttpClient.builder()
          .baseUrl(System.getenv("SLUICE_URL") + "/v1")
          .apiKey(System.getenv("SLUICE_API_KEY"))
          .maxRetries(0)
          .responseValidation(true)
          .build();

  public static void main(String[] args) throws Exception {
    files();
    uploads();
    stores();
    batches();
    responses();
    stream();
    background();
    conversations();
    models();
  }

  private static void check(boolean ok, Object got) {
    if (!ok) throw new AssertionError("unexpected: " + got);
  }

  private static <T> List<T> all(Iterable<T> pages) {
    return StreamSupport.stream(pages.spliterator(), false).collect(Collectors.toList());
  }

  private static String upload(String name) {
    InputStream content = new ByteArrayInputStream(TEXTS.get(name).getBytes(StandardCharsets.UTF_8));
    MultipartField<InputStream> file = MultipartField.<InputStream>builder().value(content).filename(name).contentType("text/plain").build();
    return client.files().create(FileCreateParams.builder().file(file).purpose(FilePurpose.ASSISTANTS).build()).id();
  }

  private static void files() throws Exception {
    String id = upload("heron.txt");
    check(client.files().retrieve(id).filename().equals("heron.txt"), id);
    try (var content = client.files().content(id)) {
      check(new String(content.body().readAllBytes(), StandardCharsets.UTF_8).equals(TEXTS.get("heron.txt")), id);
    }
    check(all(client.files().list(FileListParams.builder().limit(1).build()).autoPager()).stream().anyMatch(f -> f.id().equals(id)), id);
    check(client.files().delete(id).deleted(), id);
    try {
      client.files().retrieve(id);
      check(false, "the file was deleted");
    } catch (NotFoundException expected) {
      System.out.println("   files");
    }
  }

  private static void uploads() {
    UploadCreateParams.Builder params = UploadCreateParams.builder().filename("two.txt").mimeType("text/plain").purpose(FilePurpose.ASSISTANTS);
    String id = client.uploads().create(params.bytes(11).build()).id();
    List<String> parts = new ArrayList<>();
    for (String text : List.of("hello ", "world")) {
      parts.add(client.uploads().parts().create(id, PartCreateParams.builder().data(text.getBytes(StandardCharsets.UTF_8)).build()).id());
    }
    Upload whole = client.uploads().complete(id, UploadCompleteParams.builder().partIds(parts).build());
    check(whole.status().equals(Upload.Status.COMPLETED) && whole.file().get().bytes() == 11, whole);
    String left = client.uploads().create(params.bytes(1).build()).id();
    check(client.uploads().cancel(left).status().equals(Upload.Status.CANCELLED), left);
    System.out.println("   uploads");
  }

  private static VectorStoreFile settled(String store, String file) throws InterruptedException {
    while (true) {
      VectorStoreFile now = client.vectorStores().files().retrieve(file, FileRetrieveParams.builder().vectorStoreId(store).build());
      if (!now.status().equals(VectorStoreFile.Status.IN_PROGRESS)) return now;
      Thread.sleep(50);
    }
  }

  private static void stores() throws Exception {
    var service = client.vectorStores();
    String store = service.create(VectorStoreCreateParams.builder().name("Places").addFileId(upload("otter.txt")).build()).id();
    check(service.update(store, VectorStoreUpdateParams.builder().name("Bridges").build()).name().equals("Bridges"), store);
    check(service.retrieve(store).name().equals("Bridges"), store);
    check(all(service.list().autoPager()).stream().anyMatch(s -> s.id().equals(store)), store);

    String heron = upload("heron.txt");
    service.files().create(store, com.openai.models.vectorstores.files.FileCreateParams.builder().fileId(heron).build());
    check(settled(store, heron).status().equals(VectorStoreFile.Status.COMPLETED), heron);
    var attributes = FileUpdateParams.Attributes.builder().putAdditionalProperty("year", JsonValue.from(2026)).build();
    service.files().update(heron, FileUpdateParams.builder().vectorStoreId(store).attributes(attributes).build());
    settled(store, heron);
    check(all(service.files().list(store).autoPager()).size() == 2, store);
    var content = all(service.files().content(heron, FileContentParams.builder().vectorStoreId(store).build()).autoPager());
    check(content.get(0).text().get().contains("trams and bicycles"), content);

    var newer = ComparisonFilter.builder().type(ComparisonFilter.Type.GTE).key("year").value(2026).build();
    var found = service.search(store, VectorStoreSearchParams.builder().query("bridge or lock").filters(newer).maxNumResults(5).build()).data();
    check(found.size() == 1 && found.get(0).fileId().equals(heron), found);
    check(service.files().delete(heron, FileDeleteParams.builder().vectorStoreId(store).build()).deleted(), heron);
    check(service.delete(store).deleted(), store);
    System.out.println("   stores");
  }

  private static void batches() throws Exception {
    String store = client.vectorStores().create().id();
    var service = client.vectorStores().fileBatches();
    String file = upload("heron.txt");
    VectorStoreFileBatch batch = service.create(store, FileBatchCreateParams.builder().fileIds(List.of(file, upload("otter.txt"), "file-missing")).build());
    var one = FileBatchRetrieveParams.builder().vectorStoreId(store).build();
    while (batch.status().equals(VectorStoreFileBatch.Status.IN_PROGRESS)) {
      Thread.sleep(50);
      batch = service.retrieve(batch.id(), one);
    }
    check(batch.fileCounts().completed() == 2 && batch.fileCounts().failed() == 1, batch);
    check(all(service.listFiles(batch.id(), FileBatchListFilesParams.builder().vectorStoreId(store).limit(2).build()).autoPager()).size() == 3, batch);
    var other = service.create(store, FileBatchCreateParams.builder().addFile(FileBatchCreateParams.File.builder().fileId(file).build()).build());
    var cancelled = service.cancel(other.id(), FileBatchCancelParams.builder().vectorStoreId(store).build());
    check(cancelled.status().equals(VectorStoreFileBatch.Status.CANCELLED), cancelled);
    client.vectorStores().delete(store);
    System.out.println("   batches");
  }

  private static ResponseCreateParams.Builder search() {
    var tool = FileSearchTool.builder().addVectorStoreId("vs_" + System.getenv("DATASTORE")).maxNumResults(5).build();
    return ResponseCreateParams.builder().model("gpt-4o-mini").input(QUESTION).addTool(tool);
  }

  private static String text(Response response) {
    return response.output().stream()
        .flatMap(item -> item.message().stream())
        .flatMap(message -> message.content().stream())
        .flatMap(part -> part.outputText().stream())
        .map(part -> part.text())
        .collect(Collectors.joining());
  }

  private static void responses() {
    Response got = client.responses().create(search().addInclude(ResponseIncludable.FILE_SEARCH_CALL_RESULTS).build());
    check(text(got).contains("thirty months"), got);
    check(got.output().get(0).asFileSearchCall().results().get().get(0).filename().get().equals("Manual of the pump"), got);
    var citation = got.output().get(1).asMessage().content().get(0).asOutputText().annotations().get(0).asFileCitation();
    check(text(got).substring((int) citation.index()).startsWith("[1]"), citation);
    check(text(client.responses().retrieve(got.id())).equals(text(got)), got);
    check(all(client.responses().inputItems().list(got.id()).autoPager()).size() == 1, got);
    var next = ResponseCreateParams.builder().model(AGENT).input("And when does its warranty begin?").previousResponseId(got.id()).build();
    check(text(client.responses().create(next)).contains("delivered"), next);
    client.responses().delete(got.id());
    try {
      client.responses().retrieve(got.id());
      check(false, "the response was deleted");
    } catch (NotFoundException expected) {
      System.out.println("   responses");
    }
  }

  private static void stream() {
    List<ResponseStreamEvent> events;
    try (var stream = client.responses().createStreaming(search().build())) {
      events = stream.stream().collect(Collectors.toList());
    }
    String joined = events.stream().flatMap(e -> e.outputTextDelta().stream()).map(e -> e.delta()).collect(Collectors.joining());
    Response last = events.get(events.size() - 1).asCompleted().response();
    check(joined.contains("thirty months") && joined.equals(text(last)), joined);
    try (var stream = client.responses().retrieveStreaming(last.id(), ResponseRetrieveParams.builder().startingAfter(3).build())) {
      check(stream.stream().count() == events.size() - 4, events);
    }
    System.out.println("   stream");
  }

  private static void background() throws Exception {
    Response got = client.responses().create(ResponseCreateParams.builder().model(AGENT).input(QUESTION).background(true).build());
    while (got.status().get().equals(ResponseStatus.QUEUED) || got.status().get().equals(ResponseStatus.IN_PROGRESS)) {
      Thread.sleep(50);
      got = client.responses().retrieve(got.id());
    }
    check(text(got).contains("thirty months"), got);
    check(client.responses().cancel(got.id()).status().get().equals(ResponseStatus.COMPLETED), got);
    System.out.println("   background");
  }

  private static void conversations() {
    var service = client.conversations();
    String id = service.create(ConversationCreateParams.builder().build()).id();
    client.responses().create(ResponseCreateParams.builder().model(AGENT).input(QUESTION).conversation(id).build());
    check(all(service.items().list(id).autoPager()).size() == 2, id);
    var thanks = EasyInputMessage.builder().role(EasyInputMessage.Role.USER).content("Thanks.").build();
    String item = service.items().create(id, ItemCreateParams.builder().addItem(thanks).build()).data().get(0).asMessage().id();
    service.items().retrieve(item, ItemRetrieveParams.builder().conversationId(id).build());
    service.items().delete(item, ItemDeleteParams.builder().conversationId(id).build());
    var metadata = ConversationUpdateParams.Metadata.builder().putAdditionalProperty("topic", JsonValue.from("weights")).build();
    service.update(id, ConversationUpdateParams.builder().metadata(metadata).build());
    check(service.retrieve(id).toString().contains("weights"), id);
    check(service.delete(id).deleted(), id);
    System.out.println("   conversations");
  }

  private static void models() {
    String model = "builtin-en-256-v1";
    var vectors = client.embeddings().create(EmbeddingCreateParams.builder().model(model).inputOfArrayOfStrings(List.of("a pump", "a boat")).build());
    check(vectors.data().size() == 2 && vectors.data().get(1).embedding().size() == 256, vectors);
    check(all(client.models().list().autoPager()).stream().anyMatch(m -> m.id().equals(model)), model);
    check(client.models().retrieve(model).ownedBy().equals("sluice"), model);
    var chat = ChatCompletionCreateParams.builder().model(AGENT).addUserMessage(QUESTION).build();
    String whole = client.chat().completions().create(chat).choices().get(0).message().content().get();
    check(whole.contains("thirty months"), whole);
    try (var stream = client.chat().completions().createStreaming(chat)) {
      String joined =
          stream.stream()
              .flatMap(chunk -> chunk.choices().stream())
              .flatMap(choice -> choice.delta().content().stream())
              .collect(Collectors.joining());
      check(joined.equals(whole), joined);
    }
    System.out.println("   embeddings, models, chat completions");
  }
}
