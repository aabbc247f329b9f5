/** Generated files that are served for a while. */
export interface BlobsTable {
  id: string;
  media_type: string;
  bytes: Uint8Array;
  expires_at: number;
}
