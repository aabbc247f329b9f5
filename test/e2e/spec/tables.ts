/** A model of the specification's part 2.10. */
export interface SpecifiedModel {
  id: string;
  premium: boolean;
}

const chat: readonly [id: string, premium: boolean, contextTokens: number][] = [
  ["famA-4.1-nano", false, 128_000],
  ["famA-4.1-mini", false, 128_000],
  ["famA-4.1", true, 128_000],
  ["famA-4o", false, 128_000],
  ["famA-4o-mini", false, 128_000],
  ["famA-5", true, 128_000],
  ["famA-5.1", true, 128_000],
  ["famA-5.2", true, 128_000],
  ["famA-5.4", true, 1_050_000],
  ["famA-5.3-instant", true, 128_000],
  ["famA-5.4-nano", true, 400_000],
  ["famA-5.4-mini", true, 400_000],
  ["o3", true, 200_000],
  ["o4-mini", true, 200_000],
  ["famA/oss-20b", false, 128_000],
  ["famA/oss-120b", false, 128_000],
  ["famB-2.0-flash", false, 1_000_000],
  ["famB-2.5-flash", false, 1_000_000],
  ["famB-2.5-flash-lite-preview-06-17", false, 1_000_000],
  ["famB-2.5-pro", false, 1_000_000],
  ["famB-2.5-pro-preview-06-05", false, 1_000_000],
  ["famB-3-flash", true, 1_000_000],
  ["famB-3.1-pro", true, 1_000_000],
  ["famB-3.1-flash-lite", true, 1_000_000],
  ["famC-sonnet-4", true, 200_000],
  ["famC-opus-4", true, 200_000],
  ["famC-sonnet-4-5", true, 200_000],
  ["famC-opus-4-5", true, 200_000],
  ["famC-haiku-4-5", true, 200_000],
  ["famC-sonnet-4-6", true, 200_000],
  ["famC-opus-4-6", true, 200_000],
  ["famD-4-scout-17b-16e-instruct", false, 128_000],
  ["famD-3.3-70b-versatile", false, 128_000],
  ["famD-3.1-8b-instant", false, 128_000],
  ["famE/3-32b", false, 128_000],
  ["hostG/compound", false, 128_000],
  ["hostG/compound-mini", false, 128_000],
  ["famF-m", false, 8000],
];

/** The table of text generation. */
export const chatModels = chat.map(([id, premium, contextTokens]) => ({ id, premium, contextTokens }));

/** The table of embeddings, with the price of a token in nanodollars. */
export const embeddingModels = [
  { id: "text-embedding-3-small", premium: false, tokenNanodollars: 20 },
  { id: "hostT/m2-bert-80M-32k-retrieval", premium: false, tokenNanodollars: 8 },
  { id: "famB-embedding-001", premium: false, tokenNanodollars: 150 },
  { id: "famB-embedding-2-preview", premium: true, tokenNanodollars: 200 },
] as const;

/** The price of part 4.3: $0.04 with a markup of 15 %. */
export const imageModels = [{ id: "famB-3-pro-image-preview", premium: false, imageNanodollars: 46_000_000 }] as const;

/** The prices of part 4.4, by the hour of audio. */
export const transcriptionModels = [
  { id: "famW-large-v3", premium: true, hourNanodollars: 111_000_000 },
  { id: "famW-large-v3-turbo", premium: true, hourNanodollars: 40_000_000 },
  { id: "famF-stt", premium: true, hourNanodollars: 330_000_000 },
] as const;

/** The prices of part 4.5, by the character. */
export const speechModels = [
  { id: "famT/v1-english", premium: false, characterNanodollars: 22_000 },
  { id: "famT/arabic-saudi", premium: false, characterNanodollars: 40_000 },
  { id: "famP-tts", premium: false, characterNanodollars: 22_000 },
  { id: "famP-tts-arabic", premium: false, characterNanodollars: 40_000 },
  { id: "famF-tts", premium: true, characterNanodollars: 33_000 },
] as const;
