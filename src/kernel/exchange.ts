import type {
  Capability,
  ChatChunk,
  ChatCompletion,
  ChatRequest,
  EmbeddingList,
  EmbeddingsBody,
  GeneratedImages,
  ImagesRequest,
  ModerationRequest,
  Moderations,
  Ranking,
  RerankRequest,
  ServerEvent,
  SpeechRequest,
  Transcript,
  TranscriptionRequest,
} from "../contract/index.ts";

/** What each capability takes, answers and streams. A streamed answer goes to the sink, and the answer is `undefined`. */
interface Exchanges {
  chat: { request: ChatRequest; answer: ChatCompletion | undefined; sink: ChatSink };
  embeddings: { request: EmbeddingsBody; answer: EmbeddingList; sink: never };
  images: { request: ImagesRequest; answer: GeneratedImages; sink: never };
  transcription: { request: TranscriptionRequest; answer: Transcript; sink: never };
  moderation: { request: ModerationRequest; answer: Moderations; sink: never };
  rerank: { request: RerankRequest; answer: Ranking; sink: never };
  speech: { request: SpeechRequest; answer: undefined; sink: StreamSink<Uint8Array<ArrayBuffer>> };
}

export type RequestOf<C extends Capability> = Exchanges[C]["request"];
export type AnswerOf<C extends Capability> = Exchanges[C]["answer"];
export type SinkOf<C extends Capability> = Exchanges[C]["sink"];

/** Receives a streamed answer. The kernel writes to it, the HTTP side sends. */
export interface StreamSink<Chunk> {
  /** The provider has begun to answer: the head may be sent. Called once, before the first chunk. */
  open(): void;
  /** Takes a chunk. Returns a promise when the client is behind, to be awaited before the next chunk. */
  write(chunk: Chunk): Promise<void> | undefined;
}

/** The sink of a chat stream, whose provider may speak the client's own wire format. */
export interface ChatSink extends StreamSink<ChatChunk> {
  /** Takes an event in the client's own wire format; as `write`. */
  pass(event: ServerEvent): Promise<void> | undefined;
}
