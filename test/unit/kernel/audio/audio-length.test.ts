import { describe, expect, test } from "bun:test";
import { chunksMax, framesMax, measure, readAudioLength } from "../../../../src/kernel/audio/audio-length.ts";
import {
  be,
  box,
  chunk,
  concat,
  element,
  fileOf,
  flacFrames,
  flacHead,
  float64,
  id3,
  le,
  mp3Frames,
  mvhd,
  oggPage,
  wavHead,
  webm,
} from "../../../support/audio-files.ts";
import { recordingAt, recordingsMissing } from "../../../support/recordings.ts";
import { wavFile } from "../../../support/wav.ts";

const second = new Uint8Array(32_000);
const [segment, info, cluster] = [
  [0x18, 0x53, 0x80, 0x67],
  [0x15, 0x49, 0xa9, 0x66],
  [0x1f, 0x43, 0xb6, 0x75],
];
const ebml = element([0x1a, 0x45, 0xdf, 0xa3], [0x42, 0x86, 0x81, 1]);
const opusHead = concat("OpusHead", [1, 2], le(312, 2), le(48_000, 4), [0, 0, 0]);
const vorbisHead = concat([1], "vorbis", le(0, 4), [1], le(44_100, 4), new Uint8Array(12), [0xb8, 1]);
const junk = new Uint8Array(50_000);

describe("the length of audio", () => {
  test.each([1, 999, 1000, 12_345])("of a WAV file of %d ms is exact, at least and at most", async (ms) => {
    expect(await readAudioLength(wavFile(ms))).toEqual({ audioMs: ms, audioMsMin: ms, audioMsMax: ms });
  });

  test.each<[string, File]>([
    ["a fact chunk of one sample", fileOf(wavHead, chunk("fact", [1, 0, 0, 0]), chunk("data", second))],
    [
      "a data size of 32 bytes",
      fileOf(
        wavHead,
        chunk(
          "data",
          second.map((_, at) => (at * 37) % 251),
          32,
        ),
      ),
    ],
    ["a data size of 0", fileOf(wavHead, chunk("data", second, 0))],
    ["a data size beyond the end", fileOf(wavHead, chunk("data", second, 0xffffffff))],
    ["a list after the samples", fileOf(wavHead, chunk("data", second), chunk("LIST", [1, 2, 3]))],
  ])("of a WAV file with %s is that of its samples", async (_, file) => {
    expect(await readAudioLength(file)).toEqual({ audioMs: 1000, audioMsMin: 1000, audioMsMax: 1000 });
  });

  test.each<[string, File, number]>([
    ["frames alone", fileOf(mp3Frames(100)), 100],
    ["a tag before them", fileOf(id3(5000), mp3Frames(100)), 100],
    ["two tags", fileOf(id3(10), id3(300), mp3Frames(100)), 100],
    ["an old tag after them", fileOf(mp3Frames(100), "TAG", new Uint8Array(125)), 100],
    ["more than a window of them", fileOf(mp3Frames(3000)), 3000],
  ])("of an MP3 file with %s is counted by its frames", async (_, file, frames) => {
    const audioMs = Math.ceil((frames * 1152 * 1000) / 44_100);
    const audioMsMin = Math.floor((frames * 417) / 56);
    expect(await readAudioLength(file)).toEqual({ audioMs, audioMsMin, audioMsMax: audioMs });
  });

  test.skipIf(recordingsMissing !== undefined)("of a recorded MP3 file is right", async () => {
    const file = new File([recordingAt("openai/audio-speech/gpt-4o-mini-tts-binary.mp3").body], "a.mp3");
    const { audioMs, audioMsMin } = await readAudioLength(file);
    expect(audioMs).toBe(5352);
    expect(audioMsMin).toBeLessThan(5352);
  });

  test.each<[string, File, number]>([
    ["MP4", fileOf(box("ftyp", junk), box("mdat", junk), box("moov", mvhd(1000, 61_500))), 61_500],
    ["MP4 with 64-bit times", fileOf(box("ftyp", junk), box("moov", mvhd(44_100, 441_000, 1))), 10_000],
    [
      "MP4 in fragments",
      fileOf(box("ftyp", junk), box("moov", mvhd(600, 0), box("mvex", box("mehd", [0, 0, 0, 0], be(1200, 4))))),
      2000,
    ],
    [
      "MP4 with a large box",
      fileOf(be(1, 4), "mdat", be(16 + junk.length, 8), junk, box("moov", mvhd(1000, 61_500))),
      61_500,
    ],
    [
      "WebM",
      fileOf(ebml, element(segment, element(info, element([0x44, 0x89], float64(2500))), element(cluster))),
      2500,
    ],
    [
      "WebM of another scale",
      fileOf(
        ebml,
        concat(segment, [0x01, ...new Array(7).fill(255)]),
        element(info, element([0x2a, 0xd7, 0xb1], be(100_000, 3)), element([0x44, 0x89], float64(2500))),
      ),
      250,
    ],
  ])(
    "of %s is what its header says, and has no bound, since a packet of its codec can hold any number of frames",
    async (_, file, ms) => {
      const { audioMs, audioMsMin, audioMsMax } = await readAudioLength(file);
      expect({ audioMs, audioMsMax }).toEqual({ audioMs: ms, audioMsMax: undefined });
      expect(audioMsMin).toBeLessThanOrEqual(Math.ceil(file.size / 64));
    },
  );

  // The two packets that are no audio have the first bytes of packets of 120 and of 10 ms.
  const framed = new Uint8Array([0xf8, 1, 2]);
  const opus = (...packets: (Uint8Array | number[])[]) => [
    oggPage(0, [opusHead], true),
    oggPage(0, [[0]]),
    oggPage(-1, packets),
  ];
  test.each<[string, File, number]>([
    ["Opus of 20 ms a packet", fileOf(...opus(framed, framed, framed)), 190],
    ["Opus that is silent, a byte a packet", fileOf(...opus(...new Array(100).fill([0xf8]))), 2130],
    ["Opus of six frames a packet", fileOf(...opus([0xfb, 6, 0], [0x1b, 63])), 370],
    ["Opus of packets that are empty, which are filled in", fileOf(...opus([], [])), 370],
    [
      "Vorbis",
      fileOf(oggPage(0, [vorbisHead], true), oggPage(-1, [[0], [0], [0]])),
      Math.ceil((4 * 1024 * 1000) / 44_100),
    ],
    [
      "FLAC of two hours of silence",
      fileOf(flacHead(0), flacFrames(4845, 65_536)),
      Math.ceil((4845 * 65_536 * 1000) / 44_100),
    ],
    [
      "WebM of Opus",
      fileOf(
        webm("A_OPUS", [
          [0x81, 0, 0, 0x80, 0xf8],
          [0x81, 0, 20, 0x80, 0xf9],
        ]),
      ),
      60,
    ],
    ["WebM of Opus with laced packets", fileOf(webm("A_OPUS", [[0x81, 0, 0, 0x82, 3, 1, 1, 1, 1]])), 480],
  ])("of %s is at most what its frames play", async (_, file, ms) => {
    expect((await readAudioLength(file)).audioMsMax).toBe(ms);
  });

  test("of a FLAC file whose header says more than its frames is at most what the header says", async () => {
    const { audioMs, audioMsMax } = await readAudioLength(fileOf(flacHead(44_100 * 60), flacFrames(1, 4096)));
    expect([audioMs, audioMsMax]).toEqual([60_000, 60_000]);
  });

  test("of an Ogg file whose last page names a later position is at most that", async () => {
    const file = fileOf(oggPage(0, [opusHead], true), oggPage(48_312, [framed]));
    const { audioMs, audioMsMax } = await readAudioLength(file);
    expect([audioMs, audioMsMax]).toEqual([1000, 1000]);
  });

  test.each<[string, File]>([
    ["an Ogg file with a broken page", fileOf(oggPage(0, [opusHead], true), junk, oggPage(48_312, [framed]))],
    [
      "an Ogg file with a page of a stream that it did not open",
      fileOf(oggPage(0, [opusHead], true), oggPage(0, [framed]).with(14, 7)),
    ],
    ["an Ogg file of FLAC", fileOf(oggPage(0, [concat([0x7f], "FLAC", new Uint8Array(40))], true))],
    ["WebM of Vorbis", fileOf(webm("A_VORBIS", [[0x81, 0, 0, 0x80, 0xf8]]))],
    [
      "WebM whose decoder adds bytes to each packet",
      fileOf(webm("A_OPUS", [[0x81, 0, 0, 0x80, 0xf8]], element([0x6d, 0x80], [1]))),
    ],
  ])("of %s has no bound", async (_, file) => {
    expect((await readAudioLength(file)).audioMsMax).toBeUndefined();
  });

  const fmt = (code: number, [channels, rate, bits]: [number, number, number], ...more: number[]) => {
    const block = channels * Math.ceil(bits / 8);
    return chunk("fmt ", [
      ...le(code, 2),
      ...le(channels, 2),
      ...le(rate, 4),
      ...le(rate * block, 4),
      ...le(block, 2),
      ...le(bits, 2),
      ...more,
    ]);
  };
  const wav = (...parts: Uint8Array[]) => fileOf("RIFF....WAVE", ...parts);
  const [slow, fast] = [fmt(1, [1, 8000, 8]), fmt(1, [32, 384_000, 64])];
  const silence = new Array(200).fill([0xfb, 6]);
  const hiddenPages = concat(...opus(...silence));
  const outerPage = (inside: Uint8Array) => {
    const lacing = [...new Array(Math.floor(inside.length / 255)).fill(255), inside.length % 255];
    return concat("OggS", [0, 0], le(0, 8), new Uint8Array(12), [lacing.length], lacing, inside);
  };
  const blocks = [[0x81, 0, 0, 0x80, 0xf8]];
  const hiddenCluster = element(cluster, ...new Array(50).fill(element([0xa3], [0x81, 0, 0, 0x80, 0xfb, 6])));
  test.each<[string, File]>([
    ["a WAV file of two formats, of which decoders take the first", wav(slow, fast, chunk("data", second))],
    ["a WAV file of A-law with samples of 64 bits, which have 8", wav(fmt(6, [1, 8000, 64]), chunk("data", second))],
    [
      "a WAV file whose figures do not agree",
      wav(chunk("fmt ", [1, 0, 1, 0, ...le(384_000, 4), ...le(8000, 4), 1, 0, 64, 0]), chunk("data", second)),
    ],
    [
      "a WAV file of a format whose name only begins as that of plain samples",
      wav(
        fmt(0xfffe, [2, 48_000, 32], ...le(22, 2), 32, 0, ...le(3, 4), 1, 0, ...new Array(14).fill(9)),
        chunk("data", second),
      ),
    ],
    ["an MP3 file behind what is no tag", fileOf("ID3", [4, 0, 0, 0x80, 0x80, 0xf9, 0xfe], mp3Frames(100))],
    [
      "two hours of FLAC between a tag and frames",
      fileOf(id3(10), flacHead(0), flacFrames(4845, 65_536), mp3Frames(4000)),
    ],
    ["minutes of AMR before frames", fileOf("#!AMR\n", new Uint8Array(50_000).fill(0x7c), mp3Frames(4000))],
    ["an Ogg file with pages in a page", fileOf(oggPage(0, [opusHead], true), outerPage(hiddenPages))],
    ["WebM with a cluster in what is passed over", fileOf(webm("A_OPUS", blocks), element([0xec], hiddenCluster))],
    [
      "WebM with an element that reaches beyond the end of the file",
      fileOf(webm("A_OPUS", blocks), [0xec, 1, ...be(2 ** 40, 7)], hiddenCluster),
    ],
    [
      "WebM with an element that reaches beyond its parent",
      fileOf(webm("A_OPUS", blocks), [0xa0, 0x82, 0xec, 0x88], new Uint8Array(8)),
    ],
  ])("of %s has no bound, since decoders play more of it than is counted", async (_, file) => {
    expect((await readAudioLength(file)).audioMsMax).toBeUndefined();
  });

  test("of a WAV file whose size stands in 64 bits is that of all bytes behind the head of the samples", async () => {
    const file = fileOf("RF64....WAVE", slow, chunk("data", new Uint8Array(8)), chunk("JUNK", new Uint8Array(79_984)));
    expect((await readAudioLength(file)).audioMsMax).toBe(10_000);
  });

  test("of FLAC whose metadata has no end is at most what its frames play", async () => {
    const head = flacHead(0).with(4, 0);
    const file = fileOf(head, [0x82, 0xff, 0xff, 0xff], flacFrames(10, 65_536));
    expect((await readAudioLength(file)).audioMsMax).toBe(Math.ceil((10 * 65_536 * 1000) / 44_100));
  });

  test("of FLAC is not raised by a picture in its metadata", async () => {
    const picture = concat([0x86], be(5_000_000, 3), new Uint8Array(5_000_000));
    const { audioMsMin } = await readAudioLength(fileOf(flacHead(44_100).with(4, 0), picture, new Uint8Array(88_200)));
    expect(audioMsMin).toBe(500);
  });

  test("by forged headers does not fall below what the bytes must play", async () => {
    const flac = await readAudioLength(fileOf(flacHead(1), new Uint8Array(1_764_000)));
    const opus = await readAudioLength(
      fileOf(oggPage(0, [opusHead], true), oggPage(313, [framed]), new Uint8Array(128_000)),
    );
    expect([flac.audioMs, flac.audioMsMin, flac.audioMsMax]).toEqual([1, 10_000, 10_000]);
    expect([opus.audioMs, opus.audioMsMin]).toEqual([1, 1000]);
  });

  test.each<[string, File]>([
    ["nothing", fileOf()],
    ["text", fileOf("Hello, I am no audio")],
    ["a head without a body", fileOf("RIFF\x10\0\0\0WAVE")],
    ["a few frames in noise", fileOf(mp3Frames(1), new Uint8Array(5000))],
    ["a movie without a header", fileOf(box("ftyp", junk), box("moov"))],
    [
      "a movie cut off in its header",
      new File([concat(box("ftyp", junk), box("moov", mvhd(1000, 1))).slice(0, -85)], "a.mp4"),
    ],
    ["a movie of unknown length", fileOf(box("ftyp", junk), box("moov", mvhd(1000, 0xffffffff)))],
    ["a movie without a time scale", fileOf(box("ftyp", junk), box("moov", mvhd(0, 5)))],
    ["a recorder's WebM", fileOf(ebml, element(segment, element(info), element(cluster, junk)))],
    [
      "a WAV file of MP3",
      fileOf("RIFF....WAVE", chunk("fmt ", [0x55, 0, ...new Array(14).fill(1)]), chunk("data", second)),
    ],
    [
      "a WAV file of a billion hertz",
      fileOf(
        "RIFF....WAVE",
        chunk("fmt ", [1, 0, 1, 0, ...le(1e9, 4), 0, 0, 0, 0, 2, 0, 16, 0]),
        chunk("data", second),
      ),
    ],
  ])("that holds %s is unknown, and has no bound", async (_, file) => {
    const length = await readAudioLength(file);
    expect(length).toEqual({ audioMsMin: Math.floor(file.size / 12_500) });
  });
});

const large = 25 * 1024 * 1024;
const filled = (part: Uint8Array, head: Uint8Array = new Uint8Array()) => {
  const bytes = Buffer.alloc(large, part);
  bytes.set(head);
  return new File([bytes], "a.mp4");
};

describe("a hostile file of 25 MB costs no more than a good one", () => {
  test.each<[string, File, number]>([
    ["empty atoms", filled(box("free")), chunksMax],
    ["nested atoms", filled(concat(be(large, 4), "moov")), chunksMax],
    ["atoms of huge sizes", filled(concat(be(1, 4), "free", be(2 ** 52, 8))), chunksMax],
    ["atoms of no size", filled(concat(be(4, 4), "free")), chunksMax],
    ["empty WAV chunks", filled(chunk("junk", []), wavHead), chunksMax],
    ["WAV samples in empty pieces", filled(chunk("data", []), wavHead), chunksMax],
    ["empty EBML elements", filled(concat([0xec, 0x80]), ebml), framesMax],
    ["nested segments", filled(concat(segment, [0xff]), ebml), framesMax],
    ["FLAC metadata of nothing", filled(Uint8Array.of(0), flacHead(1).with(4, 0)), framesMax],
    ["Ogg pages", filled(oggPage(1, [opusHead], true)), framesMax],
    ["ID3 tags of nothing", filled(id3(0)), framesMax],
    ["ID3 tags of the largest size", filled(id3(0x0fffffff, new Uint8Array())), framesMax],
    ["the shortest frames", filled(concat([0xff, 0xf3, 0x14, 0], new Uint8Array(20))), framesMax],
    ["bytes that begin a frame and are none", filled(Uint8Array.of(0xff)), framesMax],
    ["half of them", filled(Uint8Array.of(0xff, 0x00)), framesMax],
    ["zeros", filled(new Uint8Array(1)), chunksMax],
  ])("of %s", async (_, file, visitsMax) => {
    const { reader } = await measure(file);
    expect(reader.visits).toBeLessThanOrEqual(visitsMax);
    // A file is read once, but for its beginning and what reaches from one window into the next.
    expect(reader.bytesRead).toBeLessThanOrEqual(1.07 * large);
    const { audioMsMin, audioMsMax } = await readAudioLength(file);
    expect(audioMsMin).toBeGreaterThan(0);
    if (audioMsMax !== undefined) expect(audioMsMax).toBeGreaterThanOrEqual(audioMsMin);
  });

  test("of a single atom or chunk after another is read in steps, not byte by byte", async () => {
    const atoms = box("free", new Uint8Array(100_000));
    const { reader } = await measure(filled(atoms));
    expect(reader.bytesRead).toBeLessThan(large / 5);
  });
});
