declare module "*.svg" {
  const address: string;
  export default address;
}

declare module "*.md" {
  const text: string;
  export default text;
}
