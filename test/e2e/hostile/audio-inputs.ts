/** Files whose headers take long to read, each of a few megabytes. */

const boundary = "boundary";
export const formType = `multipart/form-data; boundary=${boundary}`;

export function formOf(fileName: string, bytes: Buffer, model = "famW-large-v3"): Buffer {
  const field = (name: string, value: string) =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const file = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${fileName}"\r\n\r\n`;
  return Buffer.concat([Buffer.from(field("model", model) + file), bytes, Buffer.from(`\r\n--${boundary}--\r\n`)]);
}

/** A form of nothing but empty fields. */
export function formOfFields(count: number): Buffer {
  const field = `--${boundary}\r\ncontent-disposition: form-data; name="a"\r\n\r\n\r\n`;
  return Buffer.from(`${field.repeat(count)}--${boundary}--\r\n`);
}

const repeated = (unit: Buffer, bytes: number) => Buffer.alloc(Math.floor(bytes / unit.length) * unit.length, unit);

/** MP4: boxes of eight bytes. */
export function emptyAtoms(bytes: number): Buffer {
  const atom = (type: string, size = 8) => {
    const head = Buffer.alloc(8);
    head.writeUInt32BE(size);
    head.write(type, 4);
    return head;
  };
  return Buffer.concat([atom("ftyp", 16), Buffer.from("isom\0\0\0\0"), repeated(atom("free"), bytes)]);
}

/** WAV: chunks without data. */
export function emptyChunks(bytes: number): Buffer {
  return Buffer.concat([
    Buffer.from("RIFF\xff\xff\xff\x7fWAVE", "latin1"),
    repeated(Buffer.from("junk\0\0\0\0"), bytes),
  ]);
}

/** MP3: an ID3v2.3 tag of empty text frames. */
export function emptyFrames(bytes: number): Buffer {
  const frames = repeated(Buffer.from("TXXX\0\0\0\x01\0\0\0", "latin1"), bytes);
  const size = [21, 14, 7, 0].map((shift) => (frames.length >> shift) & 127);
  return Buffer.concat([Buffer.from("ID3\x03\0\0", "latin1"), Buffer.from(size), frames]);
}

/** MP3: tags behind tags. */
export function emptyTags(bytes: number): Buffer {
  return repeated(Buffer.from("ID3\x03\0\0\0\0\0\0", "latin1"), bytes);
}

/** WebM: void elements without data. */
export function emptyElements(bytes: number): Buffer {
  const head = Buffer.from("1a45dfa39f4282847765626d18538067", "hex");
  return Buffer.concat([head, Buffer.from("01ffffffffffffff", "hex"), repeated(Buffer.from("ec80", "hex"), bytes)]);
}
