//! The options that name the records and the files of a service, which `serve` and `engine-worker` share.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use url::Url;

use crate::bucket::{BucketAddress, Credentials, endpoint_of};
use crate::fuse::shell_quoted;
use crate::service::{
    BucketConfig, LaterPictures, PostgresServer, RecordsAt, ServiceConfig, WorkerCommand,
};

use super::job_args::{JobArgs, PictureTime};

/// Where the records and the files of a service are. Secrets are not part of it: other users of the machine can read
/// the command line.
#[derive(Debug, clap::Args)]
pub(super) struct StoreArgs {
    /// PostgreSQL database for the records, which several machines share: postgres://USER@HOST/NAME. The password comes
    /// from --records-password-file, ~/.pgpass or PGPASSWORD
    #[arg(long, value_name = "URL")]
    pub(super) records: Option<String>,
    /// File with only the password of the database
    #[arg(long, value_name = "FILE", requires = "records")]
    records_password_file: Option<PathBuf>,
    /// Bucket of an S3-compatible storage for the files: s3://BUCKET/PREFIX?endpoint=URL&region=NAME. Clients send
    /// and read files there. The credentials come from the environment (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY,
    /// or AWS_SHARED_CREDENTIALS_FILE)
    #[arg(long, value_name = "URL")]
    files: Option<BucketAddress>,
    /// Address of the storage for clients, if they reach it under another one than the service
    #[arg(long, value_name = "URL", value_parser = endpoint_of, requires = "files")]
    files_public_endpoint: Option<Url>,
    /// Allow --records with files in a folder, for tests with one process
    #[arg(long, hide = true, requires = "records")]
    allow_local_files: bool,
    /// Program that does each job instead of the engine, for tests
    #[arg(long, hide = true, value_name = "PROGRAM")]
    engine_program: Option<PathBuf>,
    /// Time after which a job whose process does not answer is given to another one, for tests
    #[arg(long, hide = true, value_name = "TIME")]
    job_lease: Option<super::settings::Span>,
}

impl StoreArgs {
    /// Settings of a service or a worker on these records and files. `data_dir` is the folder of this process, as the
    /// user has named it.
    pub(super) fn config(
        &self,
        data_dir: &Path,
        named: Option<&Path>,
        no_pictures: bool,
    ) -> Result<ServiceConfig> {
        let worker = match &self.engine_program {
            Some(program) => WorkerCommand {
                program: program.clone(),
                args: Vec::new(),
            },
            None => engine(no_pictures)?,
        };
        let mut config = ServiceConfig {
            records: self.records(named)?,
            bucket: self.bucket()?,
            ..ServiceConfig::new(data_dir, worker)
        };
        if let Some(lease) = self.job_lease {
            config.job_lease = lease.0;
        }
        Ok(config)
    }

    pub(super) fn names_files(&self) -> bool {
        self.files.is_some()
    }

    /// Where the records are.
    fn records(&self, data_dir: Option<&Path>) -> Result<RecordsAt> {
        let Some(url) = &self.records else {
            return Ok(RecordsAt::DataFolder);
        };
        let mut server: PostgresServer = url.parse()?;
        if let Some(path) = &self.records_password_file {
            server = server
                .with_password_file(path)
                .with_context(|| format!("cannot read the password file {}", path.display()))?;
        }
        if self.files.is_none() && !self.allow_local_files {
            bail!(
                "--records names a database that several machines share, but the files would be in {}, which only this \
                 machine has: store the files in a bucket (--files), or leave out --records",
                data_dir.map_or("the data folder".to_owned(), shell_quoted)
            );
        }
        Ok(RecordsAt::Postgres(server))
    }

    /// The bucket of the files, with the credentials that the environment names.
    fn bucket(&self) -> Result<Option<BucketConfig>> {
        let Some(address) = self.files.clone() else {
            return Ok(None);
        };
        let variable = |name: &str| std::env::var(name).ok();
        Ok(Some(BucketConfig {
            address,
            credentials: Credentials::find(variable)?,
            public_endpoint: self.files_public_endpoint.clone(),
        }))
    }
}

/// Where the records and the files are, in words.
pub(super) fn places(config: &ServiceConfig) -> String {
    let folder = shell_quoted(&config.data_dir);
    let records = match &config.records {
        RecordsAt::DataFolder => None,
        RecordsAt::Postgres(server) => Some(server.to_string()),
    };
    let files = config.bucket.as_ref().map(|it| it.address.to_string());
    if records.is_none() && files.is_none() {
        return format!("records and files in {folder}");
    }
    let [records, files] = [records, files].map(|place| place.unwrap_or_else(|| folder.clone()));
    format!("records in {records}, files in {files}")
}

/// The engine is this binary.
pub(super) fn engine(no_pictures: bool) -> Result<WorkerCommand> {
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let mut args = vec!["engine-worker".into()];
    args.extend(no_pictures.then(|| "--no-pictures".into()));
    Ok(WorkerCommand { program, args })
}

/// The workers for pictures that come after results; `None` if nothing is to be drawn. What an earlier start has left is
/// drawn, however results get their pictures now.
pub(super) fn later_pictures(jobs: &JobArgs) -> Result<Option<LaterPictures>> {
    if jobs.no_pictures {
        return Ok(None);
    }
    let is_later = jobs.pictures == Some(PictureTime::Later);
    let mut drawing = engine(false)?;
    drawing.args.push("--kept".into());
    Ok(Some(LaterPictures {
        quick: is_later.then(|| engine(true)).transpose()?,
        drawing,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_places_of_records_and_files_are_named_without_passwords() {
        let worker = WorkerCommand {
            program: "assetfs".into(),
            args: Vec::new(),
        };
        let mut config = ServiceConfig::new("/data", worker);
        assert_eq!(places(&config), "records and files in /data");
        config.bucket = Some(BucketConfig {
            address: "s3://models/studio".parse().unwrap(),
            credentials: Credentials {
                key_id: "key".to_owned(),
                secret: "hidden".to_owned(),
                session_token: None,
            },
            public_endpoint: None,
        });
        assert_eq!(
            places(&config),
            "records in /data, files in s3://models/studio/"
        );
        let server: PostgresServer = "postgres://assetfs@db/assetfs".parse().unwrap();
        config.records = RecordsAt::Postgres(server.with_password("hidden"));
        assert_eq!(
            places(&config),
            "records in postgres://assetfs@db/assetfs, files in s3://models/studio/"
        );
    }
}
