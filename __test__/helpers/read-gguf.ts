/** A tensor as the file lists it: dimensions from the innermost, offset within the data section. */
export interface GgufTensor {
  name: string;
  shape: number[];
  type: number;
  offset: number;
}

export interface GgufFile {
  metadata: Record<string, unknown>;
  tensors: GgufTensor[];
  /** Where the data section starts. */
  dataOffset: number;
}

const alignment = 32;

class Cursor {
  position = 0;
  constructor(readonly file: Buffer) {}

  #advance(size: number): number {
    this.position += size;
    return this.position - size;
  }

  u32(): number {
    return this.file.readUInt32LE(this.#advance(4));
  }

  u64(): number {
    return Number(this.file.readBigUInt64LE(this.#advance(8)));
  }

  text(): string {
    const size = this.u64();
    const start = this.#advance(size);
    return this.file.toString("utf8", start, start + size);
  }

  value(type: number): unknown {
    switch (type) {
      case 4:
        return this.u32();
      case 5:
        return this.file.readInt32LE(this.#advance(4));
      case 6:
        return this.file.readFloatLE(this.#advance(4));
      case 7:
        return this.file.readUInt8(this.#advance(1)) === 1;
      case 8:
        return this.text();
      case 9:
        return this.array();
      case 10:
        return this.u64();
      default:
        throw new Error(`GGUF value type ${type} is not read here`);
    }
  }

  array(): unknown[] {
    const type = this.u32();
    return Array.from({ length: this.u64() }, () => this.value(type));
  }
}

function readTensor(cursor: Cursor): GgufTensor {
  const name = cursor.text();
  const shape = Array.from({ length: cursor.u32() }, () => cursor.u64());
  return { name, shape, type: cursor.u32(), offset: cursor.u64() };
}

/** Reads header, metadata and tensor list of a version 3 GGUF file, independently of the code under test. */
export function readGguf(file: Buffer): GgufFile {
  const cursor = new Cursor(file);
  if (file.toString("latin1", 0, 4) !== "GGUF") throw new Error("not a GGUF file");
  cursor.position = 4;
  const version = cursor.u32();
  if (version !== 3) throw new Error(`GGUF version ${version} is not read here`);
  const tensorCount = cursor.u64();
  const pairCount = cursor.u64();
  const metadata: Record<string, unknown> = {};
  for (let index = 0; index < pairCount; index += 1) {
    const key = cursor.text();
    metadata[key] = cursor.value(cursor.u32());
  }
  const tensors = Array.from({ length: tensorCount }, () => readTensor(cursor));
  return { metadata, tensors, dataOffset: Math.ceil(cursor.position / alignment) * alignment };
}
