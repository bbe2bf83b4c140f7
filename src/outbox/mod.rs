//! All that is on its way out: drafts, their journal, the uploader, the jobs behind the drop folders.
