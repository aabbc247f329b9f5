import type {
  Capability,
  ChatChunk,
  ChatCompletion,
  ChatRequest,
  EmbeddingList,
  EmbeddingsBody,
  GeneratedImages,
  ImagesRequest,
  SpeechRequest,
  Transcript,
  TranscriptionRequest,
} from "../contract/index.ts";

/** What each capability takes, answers and streams. A streamed answer goes to the sink, and the answer is `undefined`. */
interface Exchanges {
  chat: { request: ChatRequest; answer: ChatCompletion | undefined; chunk: ChatChunk };
  embeddings: { request: EmbeddingsBody; answer: EmbeddingList; chunk: never };
  images: { request: ImagesRequest; answer: GeneratedImages; chunk: never };
  transcription: { request: TranscriptionRequest; answer: Transcript; chunk: never };
  speech: { request: SpeechRequest; answer: undefined; chunk: Uint8Array<ArrayBuffer> };
}

export type RequestOf<C extends Capability> = Exchanges[C]["request"];
export type AnswerOf<C extends Capability> = Exchanges[C]["answer"];
export type ChunkOf<C extends Capability> = Exchanges[C]["chunk"];

/** Receives a streamed answer. The kernel writes to it, the HTTP side sends. */
export interface StreamSink<Chunk> {
  /** The provider has begun to answer: the head may be sent. Called once, before the first chunk. */
  open(): void;
  /** Takes a chunk. Returns a promise when the client is behind, to be awaited before the next chunk. */
  write(chunk: Chunk): Promise<void> | undefined;
}
