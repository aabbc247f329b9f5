/** What the gateway makes once for itself, such as the secret that signs addresses of images. */
export interface SettingsTable {
  name: string;
  value: string;
}
