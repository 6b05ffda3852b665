export {openArchive, type ArchiveOptions} from './archive-cluster.ts'
export {
  createArchiveWriter,
  type ArchiveCompression,
  type ArchiveWriter,
  type ArchiveWriterOptions,
  type WrittenFile,
} from './archive-writer.ts'
export {listExamples, resolveExample} from './examples.ts'
export {formatArchiveLine, parseArchiveLine} from './line-codec.ts'
