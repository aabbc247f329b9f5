import type { Call, GeneratedImages, ImagesRequest } from "modelgate/plugin";
import { failWhole, readFaults, suffer } from "./faults.ts";
import { hashOf } from "./pieces.ts";
import { type Picture, toPng } from "./png.ts";

const sideDefault = 1024;
const sideMax = 2048;
/** The letters of SANDBOX, three bits a row, five rows. */
const letters = [
  0b111100111001111, 0b010101111101101, 0b110101101101101, 0b110101101101110, 0b110101110101110, 0b111101101101111,
  0b101101010101101,
];
const columns = letters.length * 4 + 1;

/** A picture that says SANDBOX, in colours by the prompt. */
export async function image({ request, model, signal }: Call<ImagesRequest>): Promise<GeneratedImages> {
  const { text, faults } = readFaults(request.prompt);
  await suffer(faults, signal);
  failWhole(faults);
  const [width = sideDefault, height = sideDefault] = (/^\d+x\d+$/.exec(request.size ?? "")?.[0].split("x") ?? []).map(
    (side) => Math.min(Number(side), sideMax),
  );
  const images = Array.from({ length: request.n ?? 1 }, (_, index) => ({
    data: toPng(draw(width, height, hashOf(`${text}/${index}`)), `Simulated by the sandbox for ${model.id}`),
    mediaType: "image/png",
    revisedPrompt: `[sandbox] ${text}`,
  }));
  return { images };
}

function draw(width: number, height: number, hash: number): Picture {
  const pixels = new Uint8Array(width * height);
  const unit = Math.max(1, Math.floor(width / columns));
  const left = Math.floor((width - unit * (columns - 2)) / 2);
  const top = Math.floor((height - unit * 5) / 2);
  for (let y = 0; y < height; y++) {
    const row = Math.floor((y - top) / unit);
    for (let x = 0; x < width; x++) {
      const column = Math.floor((x - left) / unit);
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
