import { crc32, deflateSync } from "node:zlib";
import { type AnswerOf, type Call, fromIterable, type Handler } from "modelgate/plugin";
import { getDisplayName, type ImageEditsRequest, type ImageStream } from "../../src/provider/index.ts";
import { applyFaults, failWhole, readFaults } from "./faults.ts";
import { hashText } from "./reply.ts";

const sideDefault = 1024;
const sideMax = 2048;
/** The letters of SANDBOX, three bits a row, five rows. */
const letters = [
  0b111100111001111, 0b010101111101101, 0b110101101101101, 0b110101101101110, 0b110101110101110, 0b111101101101111,
  0b101101010101101,
];
const columns = letters.length * 4 + 1;

/** An image that says SANDBOX, in colours by the prompt. */
export const image: Handler<"images"> = async (call) => {
  const { request, model, signal } = call;
  const { text, faults } = readFaults(request.prompt);
  await applyFaults(faults, signal);
  failWhole(faults);
  const [width = sideDefault, height = sideDefault] = (/^\d+x\d+$/.exec(request.size ?? "")?.[0].split("x") ?? []).map(
    (side) => Math.min(Number(side), sideMax),
  );
  const images = Array.from({ length: request.n ?? 1 }, (_, index) => ({
    data: toPng(
      draw(width, height, hashText(`${text}/${index}`)),
      `Simulated by the sandbox for ${getDisplayName(model)}`,
    ),
    mediaType: "image/png",
    revisedPrompt: `[sandbox] ${text}`,
  }));
  const [first] = images;
  const partials = request.partial_images ?? 0;
  if (partials === 0 || images.length !== 1 || first === undefined) return { images };
  const unfinished = Array.from({ length: partials }, (_, index) => ({ ...first, index }));
  return fromIterable([...unfinished, { images }]);
};

/** The simulated image knows nothing of those that it is made of. */
export function edit(call: Call<ImageEditsRequest>): Promise<AnswerOf<"images"> | ImageStream> {
  return image(call);
}

function draw(width: number, height: number, hash: number): Picture {
  const pixels = new Uint8Array(width * height);
  const unit = Math.max(1, Math.floor(width / columns));
  const margin = Math.floor((width - unit * (columns - 2)) / 2);
  const top = Math.floor((height - unit * 5) / 2);
  for (let y = 0; y < height; y++) {
    const row = Math.floor((y - top) / unit);
    for (let x = 0; x < width; x++) {
      const column = Math.floor((x - margin) / unit);
      pixels[y * width + x] = isInk(column, row) ? 2 : ((x + y) >> 5) & 1;
    }
  }
  const colour = [(hash & 0x7f) + 64, ((hash >> 8) & 0x7f) + 64, ((hash >> 16) & 0x7f) + 64] as const;
  const darker = [colour[0] - 16, colour[1] - 16, colour[2] - 16] as const;
  return { width, height, pixels, colours: [colour, darker, [255, 255, 255]] };
}

function isInk(column: number, row: number): boolean {
  if (row < 0 || row > 4 || column < 0 || column % 4 === 3) return false;
  const letter = letters[Math.floor(column / 4)];
  return letter !== undefined && ((letter >> (14 - row * 3 - (column % 4))) & 1) === 1;
}

const signature = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
const encoder = new TextEncoder();

/** An image of one byte a pixel, each the number of a colour. */
interface Picture {
  width: number;
  height: number;
  pixels: Uint8Array;
  /** Red, green and blue of each colour. */
  colours: readonly (readonly [number, number, number])[];
}

/** A PNG file of an image, with a comment in its metadata. */
function toPng({ width, height, pixels, colours }: Picture, comment: string): Uint8Array<ArrayBuffer> {
  const header = new DataView(new ArrayBuffer(13));
  header.setUint32(0, width);
  header.setUint32(4, height);
  header.setUint8(8, 8);
  header.setUint8(9, 3);
  const rows = new Uint8Array((width + 1) * height);
  for (let y = 0; y < height; y++) rows.set(pixels.subarray(y * width, (y + 1) * width), y * (width + 1) + 1);
  return joined([
    signature,
    chunk("IHDR", new Uint8Array(header.buffer)),
    chunk("PLTE", Uint8Array.from(colours.flat())),
    chunk("tEXt", encoder.encode(`Comment\0${comment}`)),
    chunk("IDAT", deflateSync(rows, { level: 6 })),
    chunk("IEND", new Uint8Array()),
  ]);
}

function chunk(name: string, data: Uint8Array): Uint8Array<ArrayBuffer> {
  const body = joined([encoder.encode(name), data]);
  const bytes = new Uint8Array(body.length + 8);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, data.length);
  bytes.set(body, 4);
  view.setUint32(body.length + 4, crc32(body));
  return bytes;
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  let length = 0;
  for (const part of parts) length += part.length;
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
